// docs/document.md: each member of a tenant document, from the schema that the admin API holds documents against.

import { Document } from "../../src/admin/document-schema.ts";
import { jsonSchemaOf } from "../../src/admin/schema-parts.ts";
import { BOUNDS } from "../../src/tenants/document/selection-bounds.ts";
import { LIMITS } from "../../src/limits/limit-definitions.ts";
import { TOPICS } from "../../src/cli/commands/help-topics.ts";
import { ALIKE, DOCUMENT_WORDS } from "./document-words.ts";
import { shapeWords, type Shape } from "./shape-words.ts";
import { table, wordsOf } from "./table.ts";

interface Member {
  readonly path: string;
  readonly shape: Shape;
  readonly isRequired: boolean;
}

const HEAD = `# The tenant document

What a tenant is, as its operators write it: in YAML or JSON for \`tenantry apply -f\`, in JSON for \`PUT
/admin/v1/tenants/{id}/document\`. Every member may be left out, unless it says required. What is not named here is refused, with its line
and the name that was meant. \`tenantry diff -f\` shows what a file would change. Written by \`npm run reference\`, from the schema.

In a file stand beside it \`id\`, which names the tenant, and, for one that is made by it, \`region\` or \`jurisdiction\`
([keys-and-profiles.md](keys-and-profiles.md#where-a-tenant-is-kept)). All of it at once is the example of \`tenantry help document\`:`;

const PATTERNS =
  "In patterns `*` stands for any run of characters, `?` for one. A `*` at the end costs nothing; of patterns with `*` or `?` elsewhere " +
  `\`tools\`, all \`scopes\` and any one profile have at most ${BOUNDS.innerPatterns} characters, in a tenant's own document and in each base.`;

/** Members of it, those of lists and of what is kept by name included; of what is made like another, only the member itself. */
export function membersOf(shape: Shape, before = ""): readonly Member[] {
  return Object.entries(shape.properties ?? {}).flatMap(([name, inner]) => {
    const path = before + name;
    const member = { path, shape: inner, isRequired: (shape.required ?? []).includes(name) };
    return Object.hasOwn(ALIKE, path) ? [member] : [member, ...within(inner, path)];
  });
}

function within(shape: Shape, path: string): readonly Member[] {
  const { items, additionalProperties } = shape;
  return [
    ...membersOf(shape, `${path}.`),
    ...(items ? membersOf(items, `${path}[].`) : []),
    ...(additionalProperties ? membersOf(additionalProperties, `${path}.NAME.`) : []),
  ];
}

const paths = (members: readonly Member[]) => members.map(({ path }) => path);

export function documentPage(): string {
  const members = membersOf(jsonSchemaOf(Document));
  const isLimit = ({ path }: Member) => path.startsWith("limits.") && path !== "limits.exact";
  const spoken = members.filter((member) => !isLimit(member) && !Object.hasOwn(ALIKE, member.path));
  const words = new Map<string, string>([
    ...wordsOf("member", DOCUMENT_WORDS, paths(spoken)),
    ...members.filter(isLimit).map(({ path }) => [path, LIMITS[path.slice(7) as keyof typeof LIMITS].about] as const),
    ...Object.entries(ALIKE).map(([path, other]) => [path, `as \`${other}\``] as const),
  ]);
  const rows = (some: readonly Member[], from = 0) =>
    table(
      ["member", "value", "what it is"],
      some.map(({ path, shape, isRequired }) => [
        `\`${path.slice(from)}\`${isRequired ? ", required" : ""}`,
        shapeWords(shape),
        words.get(path) ?? "",
      ]),
    );
  const top = members.filter(({ path }) => !path.includes("."));
  const sections = top.flatMap(({ path }) => {
    const inner = members.filter((one) => one.path.startsWith(`${path}.`) || one.path.startsWith(`${path}[`));
    return inner.length === 0 ? [] : [`## ${path}`, rows(inner, path.length + 1)];
  });
  return `${[HEAD, example(), PATTERNS, rows(top), ...sections].join("\n\n")}\n`;
}

function example(): string {
  const yaml = TOPICS["document"]?.split("\n\n")[1]?.replaceAll(/^ {2}/gm, "") ?? "";
  return `\`\`\`yaml\n${yaml}\n\`\`\``;
}

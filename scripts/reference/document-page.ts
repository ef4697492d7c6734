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

A tenant document configures a tenant. This page lists all its fields. Write a document in YAML or JSON, and apply it (\`tenantry\` stands for
\`npm run -s tenantry --\` in a checkout):

\`\`\`text
tenantry diff -f tenant.yaml    # shows what would change
tenantry apply -f tenant.yaml
\`\`\`

\`PUT /admin/v1/tenants/{id}/document\` takes the document as JSON. All fields are optional, unless the table says "required". A document with an unknown field is refused. The error shows the line and suggests the most similar
name. In a file, \`id\` names the tenant. \`region\` and \`jurisdiction\` apply only when the file creates the tenant
(see [Keys and profiles](keys-and-profiles.md#where-a-tenant-is-kept)). \`npm run reference\` writes this page from the schema. \`tenantry help document\` shows this example:`;

const PATTERNS = `In patterns, \`*\` stands for any number of characters, and \`?\` for one character. The total length of patterns is limited. For each profile, add up the characters of
its patterns, the patterns of \`tools\` and the patterns of all \`scopes\`. The sum is at most ${BOUNDS.innerPatterns.toLocaleString("en-US")} characters. Only patterns with a \`?\`, or with a \`*\` that is not the last character, are counted. Each base document has the same limit.`;

/** All fields, also of list items and of named values. A field in `ALIKE` has no inner ones here. */
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
    ...Object.entries(ALIKE).map(([path, other]) => [path, `like \`${other}\``] as const),
  ]);
  const rows = (some: readonly Member[], from = 0) =>
    table(
      ["field", "value", "meaning"],
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

// Every fenced block of README.md and docs/*.md is what its language says: TypeScript compiles against the package's types, JSON, YAML and
// TOML parse, documents are taken by the schema, shell is shell. test/e2e/pages-run.test.ts runs the shell blocks.

import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { experimental_readRawConfig as readRawConfig } from "wrangler";
import { describe, expect, it, onTestFinished } from "vitest";
import { parse } from "yaml";
import { Document } from "../src/admin/document-schema.ts";
import { validationErrors } from "./support/validation-errors.ts";
import { isObject } from "../src/protocol/jsonrpc.ts";
import { blocksIn, pageBlocks, type PageBlock } from "./support/page-blocks.ts";
import { projectOf, typeErrors } from "./support/page-project.ts";

/** How many blocks may say that they cannot be tried as they stand. */
const MOST_UNTRIED = 6;
/** Its blocks are lines of examples, which are compiled where they are: test/recipes.test.ts. */
const EXCERPTS = "docs/api.md";
/** What a file of a tenant says beside its document. */
const BESIDE = ["id", "region", "jurisdiction"];
/** JSON that is no document, by its first member. */
const OTHER_JSON = ["compilerOptions", "mcpServers", "servers", "server_id", "event", "id"];

const blocks = pageBlocks();
const of = (language: string) =>
  blocks
    .filter((one) => one.language === language && one.untried === undefined)
    .map((one) => ({ ...one, at: placeOf(one) }));

function placeOf({ page, line }: PageBlock): string {
  return `${page}:${line}`;
}

describe("a fenced block", () => {
  it("is of a language that is looked at here, or is a picture", () => {
    const known = ["json", "sh", "text", "toml", "ts", "yaml"];
    expect(
      blocks.filter(({ language, untried }) => !known.includes(language) && untried === undefined).map(placeOf),
    ).toEqual([]);
  });

  it("says why where it cannot be tried, and few do", () => {
    const reasons = blocks.flatMap(({ untried }) => untried ?? []);
    expect(reasons.length).toBeLessThanOrEqual(MOST_UNTRIED);
    expect(reasons.filter((reason) => reason.length < 20)).toEqual([]);
  });

  it("is found with its line and its reason", () => {
    const page = "# A\n\n<!-- not tried: it costs money -->\n\n```sh\nnpx wrangler deploy\n```\n\n```ts\nlet a;\n```\n";
    expect(blocksIn("a.md", page)).toEqual([
      { page: "a.md", line: 5, language: "sh", text: "npx wrangler deploy\n", untried: "it costs money" },
      { page: "a.md", line: 9, language: "ts", text: "let a;\n", untried: undefined },
    ]);
  });
});

describe("TypeScript", () => {
  const files = new Map(
    of("ts")
      .filter(({ page }) => page !== EXCERPTS)
      .map(({ page, line, text }) => {
        const [, name] = /^\/\/ (\S+\.ts)\n/.exec(text) ?? [];
        // A block is a module, whether or not it imports something.
        return [`${page.slice(0, -3)}/${name ?? `line-${line}.ts`}`, `${text}\nexport {};\n`];
      }),
  );

  it("compiles on every page, as its reader imports it, and what is wrong is seen", () => {
    const wrong =
      'import { defineTool } from "tenantry";\nexport const a = defineTool({ name: "a", visibile: true });\n';
    const errors = typeErrors(projectOf(new Map([...files, ["wrong.ts", wrong]]))).split("\n");
    expect(errors[0]).toContain("wrong.ts(2");
    expect(errors.filter((line) => /^\S/.test(line) && !line.startsWith("wrong.ts"))).toEqual([]);
  });
});

describe("a tenant document", () => {
  const shown = [
    ...[...of("yaml"), ...of("json")].map(({ at, text }) => ({ at, value: valueOf(text) })),
    ...of("sh").flatMap(({ at, text }) =>
      [...text.matchAll(/<<'END'\n([\s\S]*?)^END$/gm)].map(([, yaml = ""]) => ({ at, value: parse(yaml) as unknown })),
    ),
  ];
  const documents = shown.filter(
    ({ value }) => !OTHER_JSON.includes(firstOf(value)) || (isObject(value) && "mode" in value),
  );

  it.each(documents)("in $at is taken by the schema", ({ value }) => {
    expect(validationErrors(Document, documentIn(value))).toEqual([]);
  });

  it("would be seen wrong", () => {
    expect(validationErrors(Document, documentIn(parse("id: acme\nprofile: {}")))).toHaveLength(1);
  });
});

it.each(of("toml"))("TOML in $at parses", ({ text }) => {
  const folder = mkdtempSync(join(tmpdir(), "tenantry-toml-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, "wrangler.toml"), text);
  expect(Object.keys(readRawConfig({ config: join(folder, "wrangler.toml") }).rawConfig).length).toBeGreaterThan(0);
});

it.each(of("sh"))("shell in $at is shell", ({ text }) => {
  const { status, stderr } = spawnSync("bash", ["-n"], { input: text, encoding: "utf8" });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
});

/** A comment in the first line names a file. JSON is YAML. */
function valueOf(text: string): unknown {
  return parse(text.replace(/^\/\/ .*\n/, ""));
}

function firstOf(value: unknown): string {
  return isObject(value) ? (Object.keys(value)[0] ?? "") : "";
}

/** Pages that have shown a whole one go on with what stands at `auth.login` in it. */
function documentIn(value: unknown): unknown {
  if (!isObject(value)) return value;
  if ("via" in value) return { auth: { login: value } };
  return Object.fromEntries(Object.entries(value).filter(([name]) => !BESIDE.includes(name)));
}

// The rules of the house that no linter knows, held against this repository, and each shown a tree that breaks it.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { RULES, type RuleTitle, type Tree } from "./architecture.ts";

const ROOT = join(import.meta.dirname, "..");
const OURS = /\.(ts|md|json|toml)$|^\.ci\/run$|^LICENSE$/;
const NOT_OURS = new Set(["node_modules", "dist", "results", "coverage", "package-lock.json"]);
const DOTS_OF_OURS = new Set([".ci"]);

const TITLES = Object.keys(RULES) as RuleTitle[];

const repository = readTree();

test("the repository is read whole", () => {
  for (const file of ["src/worker.ts", "src/protocol/methods/tools.ts", "test/architecture.test.ts", "AGENTS.md"]) {
    expect(repository.has(file), file).toBe(true);
  }
});

test.each(TITLES)("%s", (title) => {
  expect(RULES[title](repository)).toEqual([]);
});

/** The smallest tree that keeps every rule. */
const GOOD: Record<string, string> = {
  "README.md": "# readme",
  "package.json": '{ "version": "1.2.3" }',
  "src/worker.ts": code('import { demo } from "./demo/pages.ts";', "export default demo;"),
  "src/demo/pages.ts": code('import readme from "../../README.md";', 'export * from "../tenantry.ts";'),
  "src/tenantry.ts": code('export type { A } from "./protocol/revisions.ts";'),
  "src/app/app.ts": code('import { Hono } from "hono";', 'export { VERSION } from "./version.ts";'),
  "src/app/version.ts": code('export const VERSION = "1.2.3";'),
  "src/streams/hub-object.ts": code('import { DurableObject } from "cloudflare:workers";'),
  "src/protocol/revisions.ts": code('export type A = import("./methods/lists.ts").List;'),
  "src/protocol/methods/lists.ts": code("export type List = string; new Date(0); Math.max(1, 2);"),
};

interface Break {
  readonly what: string;
  /** What is added to the good tree or takes a file's place there. */
  readonly tree: Record<string, string>;
  readonly says: string[];
}

const BREAKS: Record<RuleTitle, Break[]> = {
  "src imports only from a lower rank or its own folder": [
    {
      what: "an import from a higher rank",
      tree: { "src/protocol/revisions.ts": code('import { x } from "../app/app.ts";') },
      says: ["src/protocol/revisions.ts: protocol imports app"],
    },
    {
      what: "a type import from a higher rank, over several lines, in a nested folder",
      tree: { "src/protocol/methods/lists.ts": code('import type {\n  X,\n} from "../../tenantry.ts";') },
      says: ["src/protocol/methods/lists.ts: protocol imports tenantry.ts"],
    },
    {
      what: "a type in the middle of a line",
      tree: { "src/app/app.ts": code('export const x: import("../worker.ts").X = 1;') },
      says: ["src/app/app.ts: app imports worker.ts"],
    },
    {
      what: "an import at run time",
      tree: { "src/app/app.ts": code('export const x = async () => import("../demo/pages.ts");') },
      says: ["src/app/app.ts: app imports demo"],
    },
    {
      what: "a folder that nobody ranked",
      tree: { "src/extras/thing.ts": code("export {};") },
      says: ["src/extras/thing.ts: src/extras has no rank"],
    },
    {
      what: "an import from outside src",
      tree: {
        "src/app/app.ts": code('import "../../test/support/mcp-client.ts";'),
        "test/support/mcp-client.ts": code(""),
      },
      says: ["src/app/app.ts: imports ../../test/support/mcp-client.ts from outside src"],
    },
    {
      what: "Markdown outside the demo",
      tree: { "src/app/app.ts": code('import readme from "../../README.md";') },
      says: ["src/app/app.ts: imports ../../README.md from outside src"],
    },
    {
      what: "an import without an extension",
      tree: { "src/app/app.ts": code('import { VERSION } from "./version";') },
      says: ["src/app/app.ts: ./version is no file; imports end in .ts"],
    },
  ],
  "src has no import cycle, type imports included": [
    {
      what: "a cycle of type imports",
      tree: {
        "src/app/app.ts": code('import type { B } from "./body.ts";'),
        "src/app/body.ts": code('export type { C } from "./sse.ts";'),
        "src/app/sse.ts": code('import type { A } from "./app.ts";'),
      },
      says: ["src/app/app.ts → src/app/body.ts → src/app/sse.ts → src/app/app.ts"],
    },
    {
      what: "a file that imports itself",
      tree: { "src/app/app.ts": code('import { x } from "./app.ts";') },
      says: ["src/app/app.ts → src/app/app.ts"],
    },
  ],
  "src imports a package only where it belongs": [
    ...["cloudflare:workers", "node:crypto", "hono", "hono/html", "zod", "@cfworker/json-schema"].map((name) => ({
      what: `${name} under protocol`,
      tree: { "src/protocol/revisions.ts": code(`import { x } from "${name}";`) },
      says: [`src/protocol/revisions.ts: imports ${name}`],
    })),
    ...["zod/mini", "zod/locales"].map((name) => ({
      what: `${name} in the contract`,
      tree: { "src/admin/contract.ts": code(`import * as z from "${name}";`) },
      says: [`src/admin/contract.ts: imports ${name}`],
    })),
    {
      what: "zod in what runs without a request to the admin API",
      tree: { "src/admin/services/limit-rules.ts": code('import * as z from "zod";') },
      says: ["src/admin/services/limit-rules.ts: imports zod"],
    },
    {
      what: "cloudflare:workers outside a Durable Object's file",
      tree: { "src/streams/hub.ts": code('import { DurableObject } from "cloudflare:workers";') },
      says: ["src/streams/hub.ts: imports cloudflare:workers"],
    },
    {
      what: "another module of the platform in a Durable Object's file",
      tree: { "src/streams/hub-object.ts": code('import { connect } from "cloudflare:sockets";') },
      says: ["src/streams/hub-object.ts: imports cloudflare:sockets"],
    },
    {
      what: "a package that nobody decided on",
      tree: { "src/app/app.ts": code('import "left-pad";') },
      says: ["src/app/app.ts: imports left-pad"],
    },
    {
      what: "a computed import",
      tree: { "src/app/app.ts": code("export const load = async (name: string) => import(name);") },
      says: ["src/app/app.ts: imports a computed name"],
    },
  ],
  "the demo is written against the public package": [
    {
      what: "an import past tenantry.ts",
      tree: {
        "src/demo/pages.ts": code('import type { A } from "../protocol/revisions.ts";', 'export * from "./more.ts";'),
      },
      says: ["src/demo/pages.ts: imports src/protocol/revisions.ts"],
    },
  ],
  "protocol reads no clock and no randomness": [
    {
      what: "every way to read them",
      tree: {
        "src/protocol/revisions.ts": code(
          "export const a = Date.now();",
          "export const b = new Date();",
          "export const c = Math.random();",
          "export const d = [performance.now(), crypto.randomUUID()];",
        ),
      },
      says: ["Date.now", "new Date()", "Math.random", "performance", "crypto"].map(
        (what) => `src/protocol/revisions.ts: uses ${what}`,
      ),
    },
  ],
  "mcp-client reads the clock that it was given": [
    {
      what: "a clock, chance or timers of its own",
      tree: {
        "src/mcp-client/clock.ts": code("export const now = () => Date.now();"),
        "src/mcp-client/backoff.ts": code(
          "export const a = [Date.now(), Math.random()];",
          "setTimeout(() => {}, 1);",
          "AbortSignal.timeout(1);",
        ),
      },
      says: ["Date.now", "Math.random", "setTimeout", "AbortSignal.timeout"].map(
        (what) => `src/mcp-client/backoff.ts: uses ${what}`,
      ),
    },
  ],
  "files and folders have kebab-case names that say something": ["utils", "index", "camelCase", "snake_case"].flatMap(
    (name) => [
      { what: `${name}.ts`, tree: { [`src/app/${name}.ts`]: code("") }, says: [`src/app/${name}.ts`] },
      { what: `a folder ${name}`, tree: { [`test/${name}/a.test.ts`]: "" }, says: [`test/${name}/a.test.ts`] },
    ],
  ),
  "a name that src exports means one thing": [
    {
      what: "two things of one name, a type among them",
      tree: {
        "src/app/app.ts": code("export interface Place {", "  x: 1;", "}"),
        "src/auth/key.ts": code("export async function Place() {}", "export type Own = 1;"),
      },
      says: ["Place: src/app/app.ts, src/auth/key.ts"],
    },
  ],
  "a row is written by the names of its columns": [
    {
      what: "values, or a query, without them",
      tree: {
        "src/streams/hub-object.ts": code(
          'sql.exec("INSERT INTO kept VALUES (1, 2)");',
          'sql.exec("INSERT OR REPLACE INTO kept VALUES (?, ?)", 1, 2);',
          "sql.exec(`INSERT INTO other",
          "  SELECT ?, 2`, 1);",
          'sql.exec("INSERT INTO named (one) VALUES (?)", 1);',
        ),
      },
      says: [
        "src/streams/hub-object.ts: writes rows of kept by place",
        "src/streams/hub-object.ts: writes rows of other by place",
      ],
    },
  ],
  "an error that src swallows says why nobody hears of it": [
    {
      what: "an empty catch, and one of a promise, without a word",
      tree: {
        "src/app/app.ts": code("", "", "try {", "  x();", "} catch {}"),
        "src/endpoint/mcp.ts": code("", "", "", "", "void y().catch(() => undefined);"),
      },
      says: ["src/app/app.ts:6: } catch {}", "src/endpoint/mcp.ts:6: void y().catch(() => undefined);"],
    },
  ],
  "src switches no rule off": [
    {
      what: "a limit, everything, or the compiler",
      tree: {
        "src/app/app.ts": code(
          "// oxlint-disable-next-line max-lines-per-function -- it is long",
          "/* oxlint-disable */",
          "// @ts-ignore",
          "// oxlint-disable-next-line no-console",
        ),
      },
      says: [
        "src/app/app.ts: oxlint-disable-next-line max-lines-per-function -- it is long",
        "src/app/app.ts: oxlint-disable */",
        "src/app/app.ts: @ts-ignore",
      ],
    },
  ],
  "src calls eras by their date": [
    {
      what: "words that age",
      tree: { "src/app/app.ts": code("export const isLegacy = true; // as modern ones do") },
      says: ["src/app/app.ts: isLegacy", "src/app/app.ts: modern"],
    },
  ],
  "the version that is shown is the version of the package": [
    {
      what: "another version",
      tree: { "src/app/version.ts": code('export const VERSION = "1.2.4";') },
      says: ["package.json has 1.2.3, the server shows 1.2.4"],
    },
  ],
  "no file names a path of somebody's machine": ["home", "Users", "root", "work", "tmp"].map((folder) => ({
    what: `a path under ${folder}`,
    tree: { "README.md": `See \`${machinePath(folder)}\`, not file://${machinePath(folder)}.` },
    says: [`README.md: ${machinePath(folder)}`],
  })),
};

test.each(TITLES)("the good tree keeps: %s", (title) => {
  expect(RULES[title](treeOf(GOOD))).toEqual([]);
});

describe.each(TITLES)("%s: refuses", (title) => {
  test.each(BREAKS[title])("$what", ({ tree, says }) => {
    expect(RULES[title](treeOf({ ...GOOD, ...tree }))).toEqual(says);
  });
});

function code(...lines: string[]): string {
  return ["// An example.", ...lines, ""].join("\n");
}

/** Put together here, because this file too is held to the rule. */
function machinePath(folder: string): string {
  return ["", folder, "somebody", "tenantry"].join("/");
}

function treeOf(files: Record<string, string>): Tree {
  return new Map(Object.entries(files));
}

function readTree(): Tree {
  const tree = new Map<string, string>();
  const read = (folder: string): void => {
    for (const entry of readdirSync(join(ROOT, folder), { withFileTypes: true })) {
      const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
      if (NOT_OURS.has(entry.name) || (entry.name.startsWith(".") && !DOTS_OF_OURS.has(entry.name))) continue;
      if (entry.isDirectory()) read(path);
      else if (OURS.test(path)) tree.set(path, readFileSync(join(ROOT, path), "utf8"));
    }
  };
  read("");
  return tree;
}

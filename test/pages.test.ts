// The pages keep to what there is: a Worker that a page shows exports every class that it needs, and a test that a page names is
// there.

import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Upstream } from "../src/admin/document-schema.ts";
import { jsonSchemaOf } from "../src/admin/schema-parts.ts";
import type { Shape } from "../scripts/reference/shape-words.ts";
import { errorCode } from "../src/protocol/errors.ts";

const ROOT = join(import.meta.dirname, "..");
const read = (file: string) => readFileSync(join(ROOT, file), "utf8");

describe("a Worker that a page shows", () => {
  const pages = globSync(["README.md", "docs/*.md", "src/demo/*.md"], { cwd: ROOT });
  const blocks = pages.flatMap((page) =>
    [...read(page).matchAll(/^```ts\n([\s\S]*?)^```$/gm)]
      .map(([, code = ""]) => code)
      .filter((code) => code.includes("createWorker({"))
      .map((code) => ({ page, code })),
  );

  it.each(blocks)("in $page exports the classes", ({ code }) => {
    expect(code).toContain('export * from "tenantry/objects";');
  });
});

it("docs/features.md has every member of a feature", () => {
  const [, members = ""] = /^export interface Feature \{([\s\S]*?)^\}/m.exec(read("src/deployment/feature.ts")) ?? [];
  const names = [...members.matchAll(/^ {2}(?:readonly )?(\w+)\??[:(]/gm)].map(([, name = ""]) => name);
  const [, table = ""] = read("docs/features.md").split(/^\| member .*$/m);
  const shown = [...table.matchAll(/^\| ([^|]*)\|/gm)].flatMap(([, cell = ""]) => cell.match(/\w+/g) ?? []);
  expect(names).toContain("sources");
  expect(names.filter((name) => !shown.includes(name))).toEqual([]);
});

it("docs/api-context.md and docs/api-questions.md have every member of ctx", () => {
  const [, members = ""] = /^export interface Context<.*> \{([\s\S]*?)^\}/m.exec(read("src/handlers/context.ts")) ?? [];
  const names = [...members.matchAll(/^ {2}(?:readonly )?(\w+)\??[:(<]/gm)].map(([, name = ""]) => name);
  const rows = ["api-context.md", "api-questions.md"].flatMap((page) => [
    ...read(`docs/${page}`).matchAll(/^\| ([^|]*)\|/gm),
  ]);
  const shown = rows.flatMap(([, cell = ""]) => [...cell.matchAll(/`(\w+)/g)].map(([, name]) => name));
  expect(names).toContain("tenant");
  expect(names.filter((name) => !shown.includes(name))).toEqual([]);
});

describe("the pages about upstreams", () => {
  const page = ["gateway.md", "gateway-calls.md"].map((name) => read(`docs/${name}`)).join("\n");
  const rowsUnder = (head: RegExp) =>
    (page.split(head)[1]?.split("\n\n")[0] ?? "").split("\n").map((line) => line.split("|").map((cell) => cell.trim()));

  it.each(Object.entries(jsonSchemaOf(Upstream)["properties"] as Record<string, Shape>))(
    "has the member %s of an upstream, with its bounds",
    (name, shape) => {
      const [, , about = ""] =
        rowsUnder(/^\| member +\| what it is +\|$/m).find(([, cell]) => cell?.includes(`\`${name}\``)) ?? [];
      expect(about).not.toBe("");
      const { minimum, maximum, maxItems, maxProperties, items, additionalProperties, enum: choices = [] } = shape;
      const inner = (items ?? (additionalProperties || undefined))?.maxLength;
      for (const bound of [minimum, maximum, maxItems, maxProperties, inner, ...choices]) {
        if (bound !== undefined) expect(about.replaceAll(",", "")).toContain(String(bound));
      }
    },
  );

  const ERROR_ROWS = {
    "the resource does not exist": "resourceNotFound",
    "no connection, or it was lost": "unreachableServer",
    "the [circuit](#circuit) is open": "unreachableServer",
    "the call timed out": "timeout",
    "the response is not usable": "faultyServer",
    "no access token": "faultyServer",
    "the secret is missing": "faultyServer",
    "a question from an upstream of another era": "faultyServer",
  } as const;

  it.each(Object.entries(ERROR_ROWS))("has the codes of the error: %s", (what, key) => {
    const row = rowsUnder(/^\| what happened +\| code in era 2025 .*$/m).find(([, cell]) => cell?.startsWith(what));
    expect(row?.slice(2, 4)).toEqual([String(errorCode(key, "2025")), String(errorCode(key, "2026"))]);
    // And what to do.
    expect(row?.[5]).toMatch(/\w/);
  });
});

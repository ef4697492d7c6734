// Each tool of an upstream was looked for in each profile: a document of 8 KB took half a minute. Each of these tests
// would run into its time limit.

import { expect, test } from "vitest";
import { documentErrors } from "../../../src/admin/services/document-rules.ts";
import { checkNameReferences } from "../../../src/admin/services/check-name-references.ts";
import { findDeprecatedNames } from "../../../src/tenants/document/deprecation.ts";

const many = (count: number, end: string) => Array.from({ length: count }, (_none, at) => `${end}${at}`);
const catalog = { tools: many(4000, "u__tool"), prompts: [], search: [] };
const profiles = Object.fromEntries(many(500, "p").map((name) => [name, {}]));
const tools = Object.fromEntries(many(500, "*zz").map((name) => [name, { enabled: true }]));

test("a document of many profiles and many patterns is judged without looking for each tool in each profile", () => {
  const renamed = { tools: { rename: { u__tool1: { name: "one" }, u__tool2: { name: "u__tool3" } } } };
  const before = { tools, profiles: { ...profiles, p0: {} } };
  const after = { tools, profiles: { ...profiles, p0: renamed } };
  expect(documentErrors(after, catalog).map(({ field }) => field)).toEqual(["profiles.p0.tools.rename.u__tool2.name"]);
  const names = findDeprecatedNames(before, after, catalog, 0).map(({ name, successor }) => [name, successor]);
  expect(names).toEqual([["u__tool1", "one"]]);
});

test("a document of many patterns has the first of them checked against the names, and no warning for those that match", () => {
  const deny = many(200, "*tool399");
  const own = { profiles: Object.fromEntries(many(500, "p").map((name) => [name, { tools: { deny } }])) };
  const things = { tools: new Set(catalog.tools), prompts: undefined, mayListLater: () => false };
  const { errors: refused, warnings } = checkNameReferences(own, {}, things);
  expect(refused).toEqual([]);
  expect(warnings).toHaveLength(100);
});

test("a document has no warnings of patterns once those before them took as long as a view may", () => {
  const things = { tools: new Set(many(4000, "a".repeat(110))), prompts: undefined, mayListLater: () => false };
  const warningsAfter = (patterns: number) => {
    const deny = [...many(patterns, "*?a").map((pattern) => `${pattern.slice(0, 3)}*`), "no*thing"];
    return checkNameReferences({ profiles: { p: { tools: { deny } } } }, {}, things).warnings.map(({ field }) => field);
  };
  expect(warningsAfter(10)).toEqual(["profiles.p.tools.deny.10"]);
  expect(warningsAfter(199)).toEqual([]);
});

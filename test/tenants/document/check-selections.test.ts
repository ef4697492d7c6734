// Profiles, scopes and mode in code follow the rules of documents.

import { describe, expect, it } from "vitest";
import { Document } from "../../../src/admin/contract.ts";
import { validationErrors } from "../../support/validation-errors.ts";
import { defineTenants } from "../../../src/tenants/document/tenant-definition.ts";

const many = <T>(count: number, make: (at: number) => T) =>
  Object.fromEntries(Array.from({ length: count }, (_one, at) => [`n${at}`, make(at)]));
const patterns = (count: number) => Array.from({ length: count }, (_one, at) => `p${at}`);

/** What a size of one more than the most makes wrong. */
const SIZED: readonly (readonly [what: string, most: number, make: (size: number) => object])[] = [
  ["patterns that a profile allows", 200, (size) => ({ profiles: { p: { tools: { allow: patterns(size) } } } })],
  ["patterns of URIs that it denies", 200, (size) => ({ profiles: { p: { resources: { deny: patterns(size) } } } })],
  ["characters of a pattern", 300, (size) => ({ profiles: { p: { prompts: { allow: ["x".repeat(size)] } } } })],
  ["characters of a title", 2000, (size) => ({ profiles: { p: { title: "x".repeat(size) } } })],
  ["characters outside of the basic plane", 2000, (size) => ({ profiles: { p: { description: "🌳".repeat(size) } } })],
  ["characters of instructions", 20_000, (size) => ({ profiles: { p: { instructions: "x".repeat(size) } } })],
  ["profiles", 500, (size) => ({ profiles: many(size, () => ({})) })],
  ["characters of a profile's name", 40, (size) => ({ profiles: { ["p".repeat(size)]: {} } })],
  [
    "characters of a renamed tool",
    64,
    (size) => ({ profiles: { p: { tools: { rename: { a: { name: "x".repeat(size) } } } } } }),
  ],
  [
    "characters of a tool to rename",
    300,
    (size) => ({ profiles: { p: { tools: { rename: { ["x".repeat(size)]: {} } } } } }),
  ],
  [
    "characters of its title",
    2000,
    (size) => ({ profiles: { p: { tools: { rename: { a: { title: "x".repeat(size) } } } } } }),
  ],
  [
    "characters of its description",
    20_000,
    (size) => ({ profiles: { p: { prompts: { rename: { a: { description: "x".repeat(size) } } } } } }),
  ],
  ["bytes of a result", 100_000_000, (size) => ({ profiles: { p: { resultBudget: { bytes: size } } } })],
  ["tokens of a result", 25_000_000, (size) => ({ profiles: { p: { resultBudget: { tokens: size } } } })],
  ["scopes", 500, (size) => ({ scopes: many(size, () => ({})) })],
  ["characters of a scope's name", 64, (size) => ({ scopes: { ["s".repeat(size)]: {} } })],
  ["characters of its description", 2000, (size) => ({ scopes: { s: { description: "x".repeat(size) } } })],
  ["patterns of a scope", 200, (size) => ({ scopes: { s: { resources: patterns(size) } } })],
  ["characters of a scope's pattern", 300, (size) => ({ scopes: { s: { tools: ["x".repeat(size)] } } })],
];

const inCode = (definition: object) => defineTenants({ acme: definition });

describe.each(SIZED)("%s: %i", (_what, most, make) => {
  it("are taken in code and in a document", () => {
    expect(() => inCode(make(most))).not.toThrow();
    expect(validationErrors(Document, make(most))).toEqual([]);
  });

  it("and one more are refused in code and in a document", () => {
    expect(() => inCode(make(most + 1))).toThrow(TypeError);
    expect(() => inCode(make(most + 1))).toThrow(/^tenant "acme": (profiles|scopes)/);
    expect(validationErrors(Document, make(most + 1))).not.toEqual([]);
  });
});

it.each<readonly [string, object]>([
  ["a mode that is none", { mode: "closed" }],
  ["a mode that is none, with auth", { mode: "closed", auth: {} }],
  ["a new name that clients refuse", { profiles: { p: { tools: { rename: { a: { name: "a.b" } } } } } }],
  ["a pattern to rename", { profiles: { p: { tools: { rename: { "a*": { name: "a" } } } } } }],
  ["an empty pattern", { scopes: { s: { tools: [""] } } }],
  ["a scope with a blank in its name", { scopes: { "a b": {} } }],
  ["a stray member of a scope", { scopes: { s: { allow: [] } } }],
  ["scopes that are a list", { scopes: ["s"] }],
  ["a scope that is a list", { scopes: { s: ["tool"] } }],
  ["a search that is none", { profiles: { p: { search: "yes" } } }],
  ["renamed resources", { profiles: { p: { resources: { rename: {} } } } }],
  ["a budget that is too small", { profiles: { p: { resultBudget: { bytes: 999 } } } }],
  ["a budget of something else", { profiles: { p: { resultBudget: { lines: 5 } } } }],
])("%s is refused in code and in a document", (_what, definition) => {
  expect(() => inCode(definition)).toThrow(TypeError);
  expect(validationErrors(Document, definition)).not.toEqual([]);
});

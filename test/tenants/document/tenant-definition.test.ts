import { describe, expect, it } from "vitest";
import { defineTenants } from "../../../src/tenants/document/tenant-definition.ts";
import { matchesAny } from "../../../src/tenants/document/glob.ts";
import { DEFAULT_MAX_STALENESS_MS } from "../../../src/tenants/cache/policy-cache.ts";

describe("defineTenants", () => {
  it.each(["a", "7", "acme", "a-b", "a--b", "x".repeat(40), `a${"-".repeat(38)}b`])("takes the id %s", (id) => {
    expect(defineTenants({ [id]: {} }).get(id)?.id).toBe(id);
  });

  it.each(["", "-a", "a-", "A", "a_b", "a.b", "a b", "ä", "x".repeat(41), "a/b", "__proto__", "xn--80ak", "a\n"])(
    "refuses the id %j and names it",
    (id) => {
      const definitions = Object.fromEntries([[id, {}]]);
      expect(() => defineTenants(definitions)).toThrow(`tenant id "${id}"`);
    },
  );

  it.each(["admin", "mcp"])("refuses the reserved word %s", (id) => {
    expect(() => defineTenants({ [id]: {} })).toThrow("not a reserved word");
  });

  it("takes a word that only starts with a reserved one", () => {
    expect([...defineTenants({ "admin-team": {}, apis: {} }).keys()]).toEqual(["admin-team", "apis"]);
  });

  it("fills in the staleness, and keeps the tenant's own", () => {
    const tenants = defineTenants({ plain: {}, quick: { maxStalenessMs: 50 } });
    expect(tenants.get("plain")?.maxStalenessMs).toBe(DEFAULT_MAX_STALENESS_MS);
    expect(tenants.get("quick")?.maxStalenessMs).toBe(50);
  });

  it("has no other tenants", () => {
    const tenants = defineTenants({ acme: {} });
    expect(tenants.get("constructor")).toBeUndefined();
    expect(tenants.get("ACME")).toBeUndefined();
  });
});

describe("matchesAny", () => {
  it("covers every name when there are no patterns, and none when the list is empty", () => {
    expect(matchesAny("anything", undefined)).toBe(true);
    expect(matchesAny("anything", [])).toBe(false);
  });

  it.each([
    ["notes.read", "notes.read", true],
    ["notes.read", "notes.*", true],
    ["notes.read", "*", true],
    ["notes.read", "*.read", true],
    ["notes.read", "n*e*r?a*", true],
    ["notes.read", "notes.rea?", true],
    ["", "*", true],
    ["", "", true],
    ["", "?", false],
    ["notes.read", "notes", false],
    ["notes.read", "notes.?", false],
    ["notesXread", "notes.read", false],
    ["Notes.read", "notes.*", false],
    ["a*b", "a*b", true],
    ["note://a/b", "note://*", true],
    ["abab", "*ab", true],
    ["aab", "*ab?", false],
  ])("%j against %j: %s", (name, pattern, expected) => {
    expect(matchesAny(name, [pattern])).toBe(expected);
  });

  it("needs one of several patterns", () => {
    expect(matchesAny("b", ["a", "b"])).toBe(true);
    expect(matchesAny("c", ["a", "b"])).toBe(false);
  });

  it("does not read a pattern as a regular expression", () => {
    expect(matchesAny("aaa", ["a+"])).toBe(false);
    expect(matchesAny("a+", ["a+"])).toBe(true);
  });

  it("answers a pattern made to explode", () => {
    expect(matchesAny("a".repeat(2000), [`${"*a".repeat(500)}*b`])).toBe(false);
  });
});

import { describe, expect, it } from "vitest";
import * as fc from "fast-check";
import type { Patterns, ScopeDocument, TenantDocument } from "../../../src/tenants/document/tenant-document.ts";
import {
  isVisible,
  explainVisibility,
  settingOf,
  type AccessFilter,
  type Kind,
} from "../../../src/tenants/document/visibility.ts";
import { SEED } from "../../support/seed.ts";

const NOBODY: AccessFilter = { profile: undefined, scopes: undefined };

describe("the setting of a tool", () => {
  const tools = {
    "*": { config: 1 },
    "a*": { config: 2 },
    "?dd": { config: 3 },
    "ad*": { config: 4 },
    add: { config: 5 },
  };
  it.each([
    ["add", "add"],
    ["adx", "ad*"],
    ["bdd", "?dd"],
    ["ax", "a*"],
    ["x", "*"],
    ["constructor", "*"],
  ])("of %s is that of %s", (tool, by) => {
    expect(settingOf({ tools }, tool)?.by).toBe(by);
  });

  it("does not exist if no name and no pattern fits", () => {
    expect(settingOf({ tools: { add: {} } }, "constructor")).toBeUndefined();
    expect(settingOf({}, "add")).toBeUndefined();
  });

  it("with a configuration alone leaves the tool on, whatever a pattern says", () => {
    const document = { tools: { "*": { enabled: false }, add: { config: 1 } } };
    expect(isVisible(document, NOBODY, "tools", "add")).toBe(true);
    expect(isVisible(document, NOBODY, "tools", "greet")).toBe(false);
  });
});

describe("visible", () => {
  it.each<[string, TenantDocument, AccessFilter, Kind, boolean]>([
    ["by default", {}, NOBODY, "tools", true],
    ["not where it is disabled", { tools: { x: { enabled: false } } }, NOBODY, "tools", false],
    [
      "as a prompt, though a tool of the name is disabled",
      { tools: { x: { enabled: false } } },
      NOBODY,
      "prompts",
      true,
    ],
    ["not where the profile denies it", {}, { ...NOBODY, profile: { tools: { deny: ["x"] } } }, "tools", false],
    [
      "not where it is denied and allowed",
      {},
      { ...NOBODY, profile: { tools: { deny: ["*"], allow: ["x"] } } },
      "tools",
      false,
    ],
    ["not where only others are allowed", {}, { ...NOBODY, profile: { tools: { allow: ["y"] } } }, "tools", false],
    ["where the profile speaks of another kind", {}, { ...NOBODY, profile: { tools: { allow: [] } } }, "prompts", true],
    ["not without a scope", {}, { ...NOBODY, scopes: [] }, "tools", false],
    ["not with a scope of another kind", {}, { ...NOBODY, scopes: [{ tools: ["x"] }] }, "resources", false],
    ["with one scope of several", {}, { ...NOBODY, scopes: [{}, { tools: ["x"] }] }, "tools", true],
  ])("is something %s", (...row) => {
    const [, document, filter, kind, expected] = row;
    expect(isVisible(document, filter, kind, "x")).toBe(expected);
  });

  it("is what the explanation says", () => {
    const pattern = fc.string({ unit: fc.constantFrom("a", "b", "*", "?"), minLength: 1, maxLength: 3 });
    const list = fc.option(fc.array(pattern, { maxLength: 3 }), { nil: undefined });
    const defined = (thing: object) =>
      Object.fromEntries(Object.entries(thing).filter(([, value]) => value !== undefined));
    const patterns = fc.record({ allow: list, deny: list }).map((made) => defined(made) as Patterns);
    const scope = fc.record({ tools: list, resources: list }).map((made) => defined(made) as ScopeDocument);
    const filter = fc.record({
      profile: fc.option(fc.record({ tools: patterns, resources: patterns }), { nil: undefined }),
      scopes: fc.option(fc.array(scope, { maxLength: 3 }), { nil: undefined }),
    });
    const document = fc.record({ tools: fc.dictionary(pattern, fc.record({ enabled: fc.boolean() }), { maxKeys: 3 }) });
    const name = fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 3 });
    fc.assert(
      fc.property(
        document,
        filter,
        fc.constantFrom<Kind>("tools", "prompts", "resources"),
        name,
        (of, by, kind, what) => {
          const verdict = explainVisibility(of, by, kind, what);
          expect(verdict.visible).toBe(isVisible(of, by, kind, what));
          // One reason for each part of the rule: tenant, profile, principal.
          expect(verdict.reasons.map((reason) => reason.split(":")[0])).toEqual(["tenant", "profile", "principal"]);
        },
      ),
      { ...SEED, numRuns: 1000 },
    );
  });
});

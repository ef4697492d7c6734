import { describe, expect, it } from "vitest";
import { defineTool } from "../../src/handlers/tool.ts";
import { createView, type ViewOptions, type View } from "../../src/catalog/view.ts";
import { createTenantCatalog } from "../../src/catalog/tenant-catalog.ts";
import { isFailure } from "../../src/protocol/methods/params.ts";
import type { DeprecatedName } from "../../src/tenants/object/policy-records.ts";
import { createManagedTenant } from "../../src/tenants/document/tenant-definition.ts";
import type { ProfileDocument } from "../../src/tenants/document/tenant-document.ts";

const NOW = Date.UTC(2026, 10, 23, 12);
const NAMES = ["add", "greet", "wipe"];
const CATALOG = {
  server: { name: "tests", version: "1.2.3" },
  instructions: undefined,
  tools: NAMES.map((name) => defineTool({ name, description: `Does ${name}`, handler: () => name })),
  prompts: [],
  resources: [],
};

function narrowed(
  narrowing: ViewOptions["restrictions"],
  profile: ProfileDocument = {},
  retired: DeprecatedName[] = [],
): View {
  const policy = { document: { profiles: { p: profile } }, suspensions: [], deprecatedNames: retired };
  const tenantCatalog = createTenantCatalog(CATALOG, createManagedTenant("demo"), { policy, version: 1 });
  return createView(tenantCatalog, { profile: "p", scopes: undefined, restrictions: narrowing });
}

const namesOf = ({ tools }: View) => tools.map(({ wire }) => wire.name);

/** The name in code of what a call reaches. */
function toolOf(view: View, name: string): string | undefined {
  const found = view.tool(name, NOW);
  return found === undefined || isFailure(found) ? undefined : found.target.name;
}

describe("tools that a person deselected at consent", () => {
  it.each([
    { what: "a tool by name", narrowing: { deny: ["wipe"] }, left: ["add", "greet"] },
    { what: "everything but some", narrowing: { deny: [], allow: ["greet"] }, left: ["greet"] },
    { what: "a tool that is also chosen", narrowing: { deny: ["greet"], allow: ["greet", "add"] }, left: ["add"] },
    { what: "nothing", narrowing: { deny: [] }, left: ["add", "greet", "wipe"] },
    { what: "a pattern, which is a name like any other", narrowing: { deny: ["*"] }, left: ["add", "greet", "wipe"] },
    { what: "everything", narrowing: { deny: [], allow: [] }, left: [] },
  ])("$what is neither listed nor called", ({ narrowing, left }) => {
    const view = narrowed(narrowing);
    expect(namesOf(view)).toEqual(left);
    const reachable = NAMES.filter((name) => toolOf(view, name) !== undefined);
    expect(reachable).toEqual(left);
  });

  it("is known by the name that the profile gives it", () => {
    const rename = { add: { name: "plus" } };
    const view = narrowed({ deny: [], allow: ["plus"] }, { tools: { rename } });
    expect(namesOf(view)).toEqual(["plus"]);
    expect(namesOf(narrowed({ deny: ["plus"] }, { tools: { rename } }))).toEqual(["greet", "wipe"]);
  });

  it("stays away under a name that it gets later, and under one that it had", () => {
    const rename = { wipe: { name: "clean" } };
    expect(namesOf(narrowed({ deny: ["wipe"] }, { tools: { rename } }))).toEqual(["add", "greet"]);
    const old: DeprecatedName = {
      kind: "tools",
      profile: "p",
      name: "wipe",
      target: "wipe",
      successor: "clean",
      until: NOW + 1000,
    };
    expect(toolOf(narrowed({ deny: ["clean"] }, { tools: { rename } }, [old]), "wipe")).toBeUndefined();
    expect(toolOf(narrowed(undefined, { tools: { rename } }, [old]), "wipe")).toBe("wipe");
  });

  it("do not hide another tool whose own name was given to a selected one", () => {
    const rename = { add: { name: "wipe" } };
    const view = narrowed({ deny: [], allow: ["wipe"] }, { tools: { rename } });
    expect(view.tools.map(({ target }) => target.name)).toEqual(["add"]);
  });
});

import { describe, expect, it } from "vitest";
import type { RequestScope } from "../../src/handlers/request-scope.ts";
import { defineTool } from "../../src/handlers/tool.ts";
import { createView, type ViewOptions, type View } from "../../src/catalog/view.ts";
import { createTenantCatalog } from "../../src/catalog/tenant-catalog.ts";
import { isFailure } from "../../src/protocol/methods/params.ts";
import type { SourceTool, Source } from "../../src/protocol/source.ts";
import type { DeprecatedName } from "../../src/tenants/object/policy-records.ts";
import { createManagedTenant } from "../../src/tenants/document/tenant-definition.ts";
import type { ProfileDocument } from "../../src/tenants/document/tenant-document.ts";

const NOW = Date.UTC(2026, 10, 28, 12);
const NAME = "up__a.b";
const LISTED = "up__a_b-01234567";

const toolCalled = (name: string) => defineTool({ name, handler: () => name });

function changed(): SourceTool<RequestScope> {
  const tool = toolCalled("x");
  return { ...tool, name: NAME, listedName: LISTED, wire: { ...tool.wire, name: LISTED } };
}

interface Looked extends Partial<ViewOptions> {
  readonly profiles?: ProfileDocument;
  readonly retired?: DeprecatedName[];
  /** Names of the Worker's own tools. */
  readonly own?: readonly string[];
}

function look({ profiles = {}, retired = [], own = [], ...seen }: Looked): View {
  const catalog = {
    server: { name: "t", version: "1" },
    instructions: undefined,
    tools: own.map(toolCalled),
    prompts: [],
    resources: [],
  };
  const source: Source<RequestScope> = {
    id: "up",
    state: { kind: "fresh" },
    tools: [changed()],
    prompts: [],
    resources: [],
    templates: [],
  };
  const policy = { document: { profiles: { p: profiles } }, suspensions: [], deprecatedNames: retired };
  const tenantCatalog = createTenantCatalog(catalog, createManagedTenant("demo"), { policy, version: 1 }, [source]);
  return createView(tenantCatalog, { profile: "p", scopes: undefined, ...seen });
}

const namesOf = ({ tools }: View) => tools.map(({ wire }) => wire.name);

function reached(view: View, name: string, now = NOW): string | undefined {
  const found = view.tool(name, now);
  return found && (isFailure(found) ? found.message : found.target.name);
}

describe("a tool that is listed under a changed name", () => {
  it("leaves the name to what has it itself", () => {
    const view = look({ own: [LISTED] });
    expect(namesOf(view)).toEqual([LISTED]);
    expect(reached(view, LISTED)).toBe(LISTED);
    expect(reached(view, NAME)).toBeUndefined();
  });

  it("leaves the name to what a profile gives it to", () => {
    const view = look({ own: ["add"], profiles: { tools: { rename: { add: { name: LISTED } } } } });
    expect(namesOf(view)).toEqual([LISTED]);
    expect(reached(view, LISTED)).toBe("add");
  });

  it("is called by both names after a profile gave it another, until their time is over", () => {
    const until = NOW + 1000;
    const retired: DeprecatedName[] = [
      { kind: "tools", profile: "p", name: NAME, target: NAME, successor: "ab", until },
    ];
    const view = look({ profiles: { tools: { rename: { [NAME]: { name: "ab" } } } }, retired });
    expect(namesOf(view)).toEqual(["ab"]);
    for (const name of ["ab", NAME, LISTED]) expect(reached(view, name)).toBe(NAME);
    for (const name of [NAME, LISTED]) {
      expect(reached(view, name, until)).toBe(`Unknown tool: ${name}; it is now called ab`);
    }
  });

  it("is left out and chosen by its policy name", () => {
    expect(namesOf(look({ restrictions: { deny: [NAME] } }))).toEqual([]);
    expect(namesOf(look({ restrictions: { deny: [], allow: [NAME] } }))).toEqual([LISTED]);
  });
});

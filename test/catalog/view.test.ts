import { describe, expect, it } from "vitest";
import { definePrompt } from "../../src/handlers/prompt.ts";
import { defineResource, defineTemplate } from "../../src/handlers/resource.ts";
import { defineTool } from "../../src/handlers/tool.ts";
import type { Catalog } from "../../src/handlers/catalog.ts";
import { createView, type ViewOptions, type View } from "../../src/catalog/view.ts";
import { createTenantCatalog, type TenantCatalog } from "../../src/catalog/tenant-catalog.ts";
import { isFailure } from "../../src/protocol/methods/params.ts";
import {
  defineTenants,
  createManagedTenant,
  type TenantDefinitionOf,
} from "../../src/tenants/document/tenant-definition.ts";
import type { ProfileDocument, TenantDocument } from "../../src/tenants/document/tenant-document.ts";
import type { Policy, DeprecatedName } from "../../src/tenants/object/policy-records.ts";

const NOW = Date.UTC(2026, 10, 21, 12);
const message = { role: "user", content: { type: "text", text: "Hi" } } as const;

const CATALOG: Catalog = {
  server: { name: "tests", version: "1.2.3", title: "From the code" },
  instructions: "From the code",
  tools: ["add", "greet", "wipe"].map((name) => defineTool({ name, description: `Does ${name}`, handler: () => name })),
  prompts: ["hello", "bye"].map((name) => definePrompt({ name, handler: () => name })),
  resources: [
    defineResource({ uri: "code:///a", name: "A", text: "a" }),
    defineResource({ uri: "code:///b", name: "B", text: "b" }),
    defineTemplate({ uriTemplate: "code:///t/{id}", name: "T" }),
  ],
};

interface Looked extends Partial<ViewOptions> {
  readonly policy?: Partial<Policy>;
  readonly definition?: TenantDefinitionOf;
  readonly catalog?: Partial<Catalog>;
}

function look(document: TenantDocument, { policy, definition, catalog, ...seen }: Looked = {}): View {
  const tenant = definition ? defineTenants({ demo: definition }).get("demo") : createManagedTenant("demo");
  if (!tenant) throw new Error("no tenant");
  const whole = { document, suspensions: [], deprecatedNames: [], ...policy };
  const tenantCatalog = createTenantCatalog({ ...CATALOG, ...catalog }, tenant as TenantCatalog["tenant"], {
    policy: whole,
    version: 1,
  });
  return createView(tenantCatalog, { profile: null, scopes: undefined, ...seen });
}

/** The tenant through its profile `p`. */
const through = (profile: ProfileDocument, looked: Looked = {}, document: TenantDocument = {}) =>
  look({ ...document, profiles: { p: profile } }, { profile: "p", ...looked });

const namesOf = (listing: View["tools"] | View["prompts"]) => listing.map(({ wire }) => wire.name);

/** What a call reaches: the name in code, the refusal, or nothing. */
function reached(found: ReturnType<View["tool"]> | ReturnType<View["prompt"]>): string | undefined {
  if (found === undefined) return undefined;
  return isFailure(found) ? `${found.error}: ${found.message}` : found.target.name;
}
const toolOf = (view: View, name: string, now = NOW) => reached(view.tool(name, now));
const promptOf = (view: View, name: string, now = NOW) => reached(view.prompt(name, now));

const retiredOf = (about: Partial<DeprecatedName>): Partial<Policy> => ({
  deprecatedNames: [
    { kind: "tools", profile: null, name: "old", target: "add", successor: "new", until: NOW + 1000, ...about },
  ],
});
const suspensionOf = (name: string): Partial<Policy> => ({
  suspensions: [{ kind: "tool", name, note: "it burns", since: "2026-11-21T12:00:00.000Z" }],
});

describe("tools and prompts", () => {
  it("are all there where nothing says otherwise", () => {
    const view = look({});
    expect(namesOf(view.tools)).toEqual(["add", "greet", "wipe"]);
    expect(namesOf(view.prompts)).toEqual(["hello", "bye"]);
    expect(toolOf(view, "wipe")).toBe("wipe");
    expect(promptOf(view, "bye")).toBe("bye");
    expect([toolOf(view, "hello"), promptOf(view, "add"), toolOf(view, "__proto__")]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });

  it.each<[string, View, string[]]>([
    ["of the code are those its tenant names", look({}, { definition: { tools: ["a*", "gree?"] } }), ["add", "greet"]],
    ["are those that a profile allows", through({ tools: { allow: ["add", "w*"] } }), ["add", "wipe"]],
    ["are none where a profile allows none", through({ tools: { allow: [] } }), []],
    ["are not those that a profile denies", through({ tools: { deny: ["w*"] } }), ["add", "greet"]],
    ["are denied rather than allowed", through({ tools: { allow: ["*"], deny: ["add"] } }), ["greet", "wipe"]],
    [
      "are allowed and denied by their names in code",
      through({ tools: { allow: ["add"], rename: { add: { name: "x" } } } }),
      ["x"],
    ],
    ["are not those that are disabled", look({ tools: { wipe: { enabled: false } } }), ["add", "greet"]],
    [
      "follow the exact name before a pattern",
      look({ tools: { "*": { enabled: false }, add: { enabled: true } } }),
      ["add"],
    ],
    ["follow the longest pattern", look({ tools: { "*": { enabled: false }, "gr*": { enabled: true } } }), ["greet"]],
    [
      "cannot be allowed where they are disabled",
      through({ tools: { allow: ["*"] } }, {}, { tools: { add: { enabled: false } } }),
      ["greet", "wipe"],
    ],
  ])("%s", (_what, view, expected) => {
    expect(namesOf(view.tools)).toEqual(expected);
  });

  it("that are hidden cannot be called, under any name", () => {
    const view = through({ tools: { deny: ["add"], rename: { add: { name: "sum" } } }, prompts: { allow: [] } });
    expect([toolOf(view, "add"), toolOf(view, "sum"), promptOf(view, "hello")]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });

  it("of a profile are not those of the tenant itself", () => {
    const document = { profiles: { p: { tools: { allow: ["add"] } } } };
    expect(namesOf(look(document).tools)).toHaveLength(3);
    expect(namesOf(look(document, { profile: "p" }).tools)).toEqual(["add"]);
  });

  it("of the document stand beside those in code, and in the place of one with the same name", () => {
    const prompts = { hello: { title: "Mine", messages: [message] }, own: { messages: [message] } };
    const view = look({ prompts });
    expect(namesOf(view.prompts)).toEqual(["bye", "hello", "own"]);
    expect(view.prompts[1]?.wire.title).toBe("Mine");
    expect(namesOf(look({ prompts }, { definition: { prompts: [] } }).prompts)).toEqual(["hello", "own"]);
  });
});

describe("a renaming", () => {
  it("changes the name, the title and the description, each where it is given", () => {
    const rename = { add: { name: "sum", title: "Sum" }, greet: { description: "Says hello" }, wipe: {} };
    const view = through({ tools: { rename } });
    expect(view.tools.map(({ wire: { name, title, description } }) => [name, title, description])).toEqual([
      ["sum", "Sum", "Does add"],
      ["greet", undefined, "Says hello"],
      ["wipe", undefined, "Does wipe"],
    ]);
    expect(toolOf(view, "sum")).toBe("add");
    expect(toolOf(view, "add")).toBeUndefined();
    expect(CATALOG.tools[0]?.wire).toMatchObject({ name: "add", description: "Does add" });
  });

  it("applies to prompts alike", () => {
    const view = through({ prompts: { rename: { hello: { name: "hi", title: "Hi" } } } });
    expect(namesOf(view.prompts)).toEqual(["hi", "bye"]);
    expect([promptOf(view, "hi"), promptOf(view, "hello")]).toEqual(["hello", undefined]);
  });

  it("swaps two names", () => {
    const view = through({ tools: { rename: { add: { name: "greet" }, greet: { name: "add" } } } });
    expect([toolOf(view, "add"), toolOf(view, "greet")]).toEqual(["greet", "add"]);
    expect(namesOf(view.tools)).toEqual(["greet", "add", "wipe"]);
  });

  it("may take the name of what is hidden", () => {
    const view = through({ tools: { deny: ["wipe"], rename: { add: { name: "wipe" } } } });
    expect([namesOf(view.tools), toolOf(view, "wipe")]).toEqual([["wipe", "greet"], "add"]);
  });

  it.each([
    ["before", "wipe", "add"],
    ["after", "add", "wipe"],
  ])("survives a tool in code that takes its name %s it, and nothing is listed twice", (_where, name, target) => {
    const view = through({ tools: { rename: { [target]: { name } } } });
    expect(namesOf(view.tools).filter((listed) => listed === name)).toHaveLength(1);
    expect(new Set(namesOf(view.tools)).size).toBe(view.tools.length);
    expect(toolOf(view, name)).toBe(target);
    const listed = view.tools.find(({ wire }) => wire.name === name);
    expect(listed?.target.name).toBe(target);
  });

  it("does not apply to a tool named like the constructor of every object", () => {
    const tools = [defineTool({ name: "constructor", handler: () => "built" })];
    const view = through({ tools: { rename: {} } }, { catalog: { tools } });
    expect([namesOf(view.tools), toolOf(view, "constructor")]).toEqual([["constructor"], "constructor"]);
  });
});

describe("a retired name", () => {
  it("is not listed and can be called until its time is over, then it names its successor", () => {
    const view = through(
      { tools: { rename: { add: { name: "sum" } } } },
      { policy: retiredOf({ profile: "p", successor: "sum" }) },
    );
    expect(namesOf(view.tools)).toEqual(["sum", "greet", "wipe"]);
    expect(toolOf(view, "old", NOW + 999)).toBe("add");
    expect(toolOf(view, "old", NOW + 1000)).toBe("invalidParams: Unknown tool: old; it is now called sum");
    expect(toolOf(view, "sum", NOW + 1000)).toBe("add");
  });

  it("names what its successor was renamed to since", () => {
    const rename = { add: { name: "total" } };
    const view = through({ tools: { rename } }, { policy: retiredOf({ profile: "p", successor: "sum" }) });
    expect(toolOf(view, "old", NOW + 1000)).toBe("invalidParams: Unknown tool: old; it is now called total");
  });

  it("leads nowhere when what it led to is hidden by now", () => {
    const view = through({ tools: { deny: ["add"] } }, { policy: retiredOf({ profile: "p", successor: "sum" }) });
    expect([toolOf(view, "old"), toolOf(view, "old", NOW + 1000)]).toEqual([undefined, undefined]);
  });

  it("of a prompt is a prompt's", () => {
    const policy = retiredOf({ kind: "prompts", target: "hello" });
    const view = look({}, { policy });
    expect(promptOf(view, "old")).toBe("hello");
    expect(promptOf(view, "old", NOW + 1000)).toBe("invalidParams: Unknown prompt: old; it is now called hello");
    expect(toolOf(view, "old")).toBeUndefined();
  });

  it("belongs to its profile", () => {
    const document = { profiles: { p: {}, q: {} } };
    const policy = retiredOf({ profile: "p" });
    const seen = [null, "p", "q"].map((profile) => toolOf(look(document, { profile, policy }), "old"));
    expect(seen).toEqual([undefined, "add", undefined]);
  });

  it("yields to a tool that is listed under it", () => {
    expect(toolOf(look({}, { policy: retiredOf({ name: "greet" }) }), "greet", NOW + 5000)).toBe("greet");
  });

  it("leads to no tool that was switched off, built-in ones too", () => {
    const off = { tools: { add: { enabled: false } } };
    expect(toolOf(look(off, { policy: retiredOf({ name: "add" }) }), "add")).toBeUndefined();
    expect(toolOf(look({}, { policy: retiredOf({ name: "search", target: "search" }) }), "search")).toBeUndefined();
    expect(
      promptOf(look({}, { policy: retiredOf({ kind: "prompts", name: "own", target: "own" }) }), "own"),
    ).toBeUndefined();
  });

  it("leads to nothing that is not in the code any more", () => {
    expect(toolOf(look({}, { policy: retiredOf({ target: "gone" }) }), "old")).toBeUndefined();
    const narrow = { definition: { tools: ["greet"] }, policy: retiredOf({}) };
    expect(toolOf(look({}, narrow), "old")).toBeUndefined();
  });

  it("never leads past a block, and not past the scopes", () => {
    const policy = { ...retiredOf({}), ...suspensionOf("add") };
    expect(toolOf(look({}, { policy }), "old")).toBe("suspended: old is suspended: it burns");
    expect(toolOf(look({}, { policy }), "old", NOW + 5000)).toBe("suspended: old is suspended: it burns");
    const document = { scopes: { greeter: { tools: ["greet"], prompts: ["bye"] } } };
    expect(toolOf(look(document, { policy, scopes: ["greeter"] }), "old")).toBeUndefined();
    const prompt = retiredOf({ kind: "prompts", target: "hello" });
    expect(promptOf(look(document, { policy: prompt, scopes: ["greeter"] }), "old")).toBeUndefined();
  });
});

describe("a suspended tool", () => {
  it("is not listed, and its error says why to callers who could call it", () => {
    const view = through({ tools: { rename: { add: { name: "sum" } } } }, { policy: suspensionOf("add") });
    expect(namesOf(view.tools)).toEqual(["greet", "wipe"]);
    expect(toolOf(view, "sum")).toBe("suspended: sum is suspended: it burns");
    expect(toolOf(view, "add")).toBeUndefined();
  });

  it("is as if it were not there for who could not call it", () => {
    expect(toolOf(through({ tools: { deny: ["add"] } }, { policy: suspensionOf("add") }), "add")).toBeUndefined();
    expect(toolOf(look({}, { scopes: [], policy: suspensionOf("add") }), "add")).toBeUndefined();
  });

  it("is suspended by its name in code, not by one that a profile gave it", () => {
    const view = through({ tools: { rename: { add: { name: "wiped" } } } }, { policy: suspensionOf("wiped") });
    expect(toolOf(view, "wiped")).toBe("add");
  });

  it("takes no prompt of the same name with it", () => {
    expect(promptOf(look({}, { policy: suspensionOf("hello") }), "hello")).toBe("hello");
  });
});

describe("scopes", () => {
  const scopes = {
    adder: { tools: ["add"], resources: ["code:///a"] },
    greeter: { tools: ["greet"], prompts: ["h*"] },
    none: {},
  };

  it.each<[readonly string[] | undefined, string[], string[]]>([
    [undefined, ["add", "greet", "wipe"], ["hello", "bye"]],
    [["adder"], ["add"], []],
    [["greeter", "adder"], ["add", "greet"], ["hello"]],
    [["none"], [], []],
    [[], [], []],
    [["unknown"], [], []],
    [["constructor"], [], []],
  ])("%j grant what they name and nothing else", (names, tools, prompts) => {
    const view = look({ scopes }, { scopes: names });
    expect([namesOf(view.tools), namesOf(view.prompts)]).toEqual([tools, prompts]);
  });

  it("go by names in code, and never past the profile", () => {
    const profile = { tools: { deny: ["greet"], rename: { add: { name: "sum" } } } };
    const view = through(profile, { scopes: ["adder", "greeter"] }, { scopes });
    expect([namesOf(view.tools), toolOf(view, "greet")]).toEqual([["sum"], undefined]);
  });

  it("make a view that no shared cache may keep", () => {
    const scopeOf = (document: TenantDocument, names?: string[]) => look(document, { scopes: names }).cache.cacheScope;
    expect(scopeOf({ mode: "open" })).toBe("public");
    expect(scopeOf({ mode: "open", scopes }, ["adder"])).toBe("private");
    expect(scopeOf({ mode: "key" })).toBe("private");
    expect(scopeOf({})).toBe("private");
  });
});

describe("resources", () => {
  it("in code and stored follow the profile's patterns and the scopes", () => {
    const profile = { resources: { allow: ["code:///*", "note:*"], deny: ["code:///b", "note:secret*"] } };
    const view = through(profile);
    expect(view.resources.map(({ uri }) => uri)).toEqual(["code:///a"]);
    expect([...view.resourcesByUri.keys()]).toEqual(["code:///a"]);
    expect(view.templates).toHaveLength(1);
    const uris = ["note:a", "note:secret", "note:secrets/1", "other:a"];
    expect(uris.map((uri) => view.sees(uri))).toEqual([true, false, false, false]);
    expect(view.resourcePatterns).toHaveLength(1);
    const scoped = look({ scopes: { a: { resources: ["code:///a"] } } }, { scopes: ["a"] });
    expect([scoped.resources.length, scoped.templates.length, scoped.resourcePatterns?.length]).toEqual([1, 0, 1]);
  });

  it("are all seen where nothing says otherwise, and of the code only what the tenant names", () => {
    expect([look({}).resourcePatterns, through({}).resourcePatterns]).toEqual([undefined, undefined]);
    expect(look({}, { scopes: [] }).resourcePatterns).toEqual([{ allow: [] }]);
    const view = look({}, { definition: { resources: ["code:///b"] } });
    expect([...view.resourcesByUri.keys()]).toEqual(["code:///b"]);
    expect(view.templates).toEqual([]);
  });
});

describe("server instructions", () => {
  const document: TenantDocument = { title: "Tenant", description: "D", instructions: "Of the tenant" };

  it.each<[string, View, Record<string, string>, string]>([
    ["the code's", look({}), { title: "From the code" }, "From the code"],
    ["the tenant's", look(document), { title: "Tenant", description: "D" }, "Of the tenant"],
    [
      "the profile's, where it has its own",
      through({ title: "Profile", instructions: "" }, {}, document),
      { title: "Profile", description: "D" },
      "",
    ],
    ["the tenant's, in a profile without its own", through({}, {}, document), { title: "Tenant" }, "Of the tenant"],
    [
      "the definition's under the document's",
      look({ title: "Document" }, { definition: { title: "Code", instructions: "I" } }),
      { title: "Document" },
      "I",
    ],
  ])("is %s", (_whose, view, server, instructions) => {
    expect(view.server).toMatchObject({ name: "tests", version: "1.2.3", ...server });
    expect(view.instructions).toBe(instructions);
  });

  it("is fresh for as long as a lease lasts", () => {
    expect(look({ maxStalenessMs: 70 }).cache.ttlMs).toBe(70);
    expect(look({}).cache.ttlMs).toBe(5000);
    expect(look({}, { definition: { maxStalenessMs: 60 } }).cache.ttlMs).toBe(60);
  });
});

describe("search", () => {
  const SEARCH = ["search", "fetch"];
  it.each<[string, boolean | undefined, boolean | undefined, boolean]>([
    ["off by default", undefined, undefined, false],
    ["what the tenant says", true, undefined, true],
    ["off in a profile that says so", true, false, false],
    ["on in a profile that says so", false, true, true],
  ])("is %s", (_what, tenant, profile, on) => {
    const view = through(
      profile === undefined ? {} : { search: profile },
      {},
      tenant === undefined ? {} : { search: tenant },
    );
    expect(namesOf(view.tools).filter((name) => SEARCH.includes(name))).toEqual(on ? SEARCH : []);
    expect(toolOf(view, "search")).toBe(on ? "search" : undefined);
  });

  it("is a tool like others: disabled, denied, renamed, scoped", () => {
    const on = { search: true };
    expect(namesOf(look({ ...on, tools: { search: { enabled: false } } }).tools)).toContain("fetch");
    expect(toolOf(look({ ...on, tools: { search: { enabled: false } } }), "search")).toBeUndefined();
    expect(toolOf(through({ tools: { deny: ["fetch"] } }, {}, on), "fetch")).toBeUndefined();
    expect(toolOf(through({ tools: { rename: { search: { name: "find" } } } }, {}, on), "find")).toBe("search");
    expect(namesOf(look({ ...on, scopes: { s: { tools: ["search"] } } }, { scopes: ["s"] }).tools)).toEqual(["search"]);
  });

  it("yields to an author's own tool of the same name", () => {
    const mine = defineTool({ name: "search", description: "Mine.", handler: () => "mine" });
    const view = look({ search: true }, { catalog: { tools: [mine] } });
    expect(namesOf(view.tools)).toEqual(SEARCH);
    expect(view.tools.find(({ wire }) => wire.name === "search")?.wire.description).toBe("Mine.");
  });

  it("is there though the tenant in code names other tools", () => {
    expect(namesOf(look({ search: true }, { definition: { tools: ["add"] } }).tools)).toEqual(["add", ...SEARCH]);
  });
});

describe("the configuration of a tool", () => {
  it.each<[string, TenantDocument, TenantDefinitionOf | undefined, unknown]>([
    ["nothing by default", {}, undefined, undefined],
    ["the document's", { tools: { add: { config: { limit: 3 } } } }, undefined, { limit: 3 }],
    ["a pattern's", { tools: { "a*": { config: "pattern" } } }, undefined, "pattern"],
    ["the exact name's before a pattern's", { tools: { "a*": { config: 1 }, add: { config: 2 } } }, undefined, 2],
    ["the code's", {}, { config: { add: "code" } }, "code"],
    ["the document's before the code's", { tools: { add: { config: "mine" } } }, { config: { add: "code" } }, "mine"],
  ])("is %s", (_whose, document, definition, expected) => {
    expect(look(document, definition ? { definition } : {}).configOf("add")).toEqual(expected);
  });

  it.each<[whose: string, ofConfig: (config: object) => [TenantDocument, TenantDefinitionOf?]]>([
    ["the code's", (config) => [{}, { config: { add: config } }]],
    ["the document's", (config) => [{ tools: { add: { config } } }]],
  ])("cannot be changed by a call when it is %s, at any depth", (_whose, ofConfig) => {
    const given = { list: [{ deep: 1 }], clients: new Map(), act: () => "done" };
    const [document, definition] = ofConfig(given);
    const view = look(document, definition ? { definition } : {});
    const config = view.configOf("add") as typeof given;
    const changes: (() => unknown)[] = [
      () => (config.list = []),
      () => config.list.push({ deep: 2 }),
      () => (config.list[0] = { deep: 2 }),
      () => Object.assign(config.list[0] ?? {}, { deep: 2 }),
      () => Object.setPrototypeOf(config, { more: 1 }),
      () => Object.assign(config, { more: 1 }),
    ];
    for (const change of changes) expect(change).toThrow(TypeError);
    expect(config).toEqual({ ...given, list: [{ deep: 1 }] });
    expect(view.configOf("add")).toBe(config);
  });

  it("may contain itself, and any name", () => {
    const given: Record<string, unknown> = JSON.parse('{"__proto__":{"limit":3}}');
    given.itself = given;
    const config = look({ tools: { add: { config: given } } }).configOf("add") as typeof given;
    expect([config.itself, config.limit, Object.keys(config)]).toEqual([config, undefined, ["__proto__", "itself"]]);
    expect(() => (config.itself = 1)).toThrow(TypeError);
  });

  it("goes by the name in code in a profile that gives another", () => {
    const view = through({ tools: { rename: { add: { name: "sum" } } } }, {}, { tools: { add: { config: 1 } } });
    expect([view.configOf("add"), view.configOf("sum")]).toEqual([1, undefined]);
  });
});

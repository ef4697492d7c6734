import { describe, expect, it } from "vitest";
import { checkNameReferences, knownNamesOf } from "../../../src/admin/services/check-name-references.ts";
import type { TenantDocument } from "../../../src/tenants/document/tenant-document.ts";
import { ask, newTenant, rules } from "../../support/workerd/admin.ts";

const apply = (id: string, json: unknown, query = "") => ask("PUT", `/tenants/${id}/document${query}`, { json });
const warningsOf = ({ body }: { readonly body: never }) => (body as { warnings?: unknown }).warnings;

const MISSPELT: readonly (readonly [field: string, rule: string, document: TenantDocument])[] = [
  ["tools.wpie", "there is no tool of this name: did you mean wipe?", { tools: { wpie: { enabled: false } } }],
  [
    "profiles.p.tools.allow.1",
    "there is no tool of this name: did you mean greet?",
    { profiles: { p: { tools: { allow: ["add", "gret"] } } } },
  ],
  [
    "profiles.p.tools.deny.0",
    "there is no tool of this name: did you mean wipe?",
    { profiles: { p: { tools: { deny: ["wype"] } } } },
  ],
  [
    "profiles.p.tools.rename.wype",
    "there is no tool of this name: did you mean wipe?",
    { profiles: { p: { tools: { rename: { wype: { name: "erase" } } } } } },
  ],
  [
    "profiles.p.tools.allow.0",
    "there is no tool of this name: rename gives wipe this name, so write wipe",
    { profiles: { p: { tools: { allow: ["erase"], rename: { wipe: { name: "erase" } } } } } },
  ],
  [
    "profiles.p.prompts.allow.0",
    "there is no prompt of this name: did you mean hello?",
    { profiles: { p: { prompts: { allow: ["helo"] } } } },
  ],
  ["scopes.s.tools.0", "there is no tool of this name: did you mean add?", { scopes: { s: { tools: ["ad"] } } }],
  ["scopes.s.prompts.0", "there is no prompt of this name", { scopes: { s: { prompts: ["nothing_like_it"] } } }],
  ["tools.other__add", "there is no tool of this name", { tools: { other__add: {} } }],
];

describe("an exact name that matches nothing", () => {
  it.each(MISSPELT)("is refused at %s: %s", async (field, rule, document) => {
    const id = await newTenant();
    const refused = [422, [field, rule]];
    expect(rules(await apply(id, document))).toEqual(refused);
    expect(rules(await apply(id, document, "?dryRun=1"))).toEqual(refused);
    const made = { json: { id: `${id}-new`, document } };
    expect(rules(await ask("POST", "/tenants", made))).toEqual(refused);
    expect(rules(await ask("POST", "/tenants?dryRun=1", made))).toEqual(refused);
    expect((await ask("GET", `/tenants/${id}`)).body).toMatchObject({ revision: 1 });
  });

  it("is accepted with a warning if forced, and not refused again", async () => {
    const id = await newTenant();
    const document = { tools: { coming_soon: { enabled: false } }, scopes: { s: { tools: ["coming_soon"] } } };
    expect(warningsOf(await apply(id, document, "?unknownNames=1"))).toEqual([
      { field: "tools.coming_soon", rule: "there is no tool of this name" },
      { field: "scopes.s.tools.0", rule: "there is no tool of this name" },
    ]);
    // In another place of its list, with another setting, beside others: it is the line that was there.
    const next = { tools: { coming_soon: { config: 1 } }, scopes: { s: { tools: ["add", "coming_soon"] } } };
    const applied = await apply(id, { ...next, title: "T" });
    expect([applied.status, warningsOf(applied)]).toEqual([200, undefined]);
    expect(rules(await apply(id, { ...next, profiles: { p: { tools: { allow: ["coming_soon"] } } } }))).toEqual([
      422,
      ["profiles.p.tools.allow.0", "there is no tool of this name"],
    ]);
    const made = await ask("POST", "/tenants?unknownNames=1", { json: { id: `${id}-new`, document } });
    expect([made.status, warningsOf(made)]).toEqual([201, expect.arrayContaining([expect.any(Object)])]);
  });

  it("does not say what other tenants have", async () => {
    // The tenant was given one tool of the code.
    expect(rules(await apply("partial", { tools: { wype: {} } }))).toEqual([
      422,
      ["tools.wype", "there is no tool of this name"],
    ]);
    expect(rules(await apply("partial", { tools: { wipe: {} } }))).toEqual([
      422,
      ["tools.wipe", "there is no tool of this name"],
    ]);
  });

  it("is refused in a base where no tenant could have it", async () => {
    const document = {
      tools: { wype: { enabled: false }, any__tool: {} },
      scopes: { s: { prompts: ["of_a_tenant"] } },
    };
    const refused = [422, ["tools.wype", "there is no tool of this name: did you mean wipe?"]];
    expect(rules(await ask("PUT", "/bases/misspelt", { json: document }))).toEqual(refused);
    const right = { ...document, tools: { wipe: { enabled: false }, any__tool: {} } };
    expect((await ask("PUT", "/bases/misspelt", { json: right })).status).toBe(201);
  });
});

describe("a name that may exist later", () => {
  it("is pending where an upstream of the tenant may list it, and warned of", async () => {
    const id = await newTenant();
    const upstreams = { up: { url: "https://up.example.com/mcp", enabled: false } };
    const profiles = { p: { tools: { allow: ["up__x", "up__*"], deny: ["*_delete", "wip?"] } } };
    expect(warningsOf(await apply(id, { mode: "open", upstreams, profiles }))).toEqual([
      { field: "profiles.p.tools.allow.0", rule: "pending: the upstream up lists no such name now" },
      { field: "profiles.p.tools.deny.0", rule: "no tool matches it now" },
    ]);
  });

  it("is a URI, which is stored after the document, and what search adds", async () => {
    const id = await newTenant();
    const resources = { allow: ["note://one"] };
    const document = { tools: { search: {} }, profiles: { p: { resources, tools: { allow: ["fetch"] } } } };
    const applied = await apply(id, document);
    expect([applied.status, warningsOf(applied)]).toEqual([200, undefined]);
  });

  it("is a prompt of the same document, or of its base", async () => {
    const id = await newTenant();
    const prompt = { messages: [{ role: "user", content: { type: "text", text: "Hi" } }] };
    await ask("PUT", "/bases/with-prompt", { json: { prompts: { of_base: prompt } } });
    const profiles = { p: { prompts: { allow: ["of_base", "own"] } } };
    const document = { mode: "open", extends: ["with-prompt"], prompts: { own: prompt }, profiles };
    expect((await apply(id, document)).status).toBe(200);
  });

  it("has what the same upstream lists beside it", () => {
    const catalog = { tools: ["up__search"], prompts: [], search: [] };
    const own = { upstreams: { up: {} }, tools: { up__serch: {} } };
    expect(checkNameReferences(own, {}, knownNamesOf(catalog, own)).warnings).toEqual([
      { field: "tools.up__serch", rule: "pending: the upstream up lists no such name now; did you mean up__search?" },
    ]);
  });
});

it("a document has at most a hundred and one refused names, however many there are", () => {
  const tools = Object.fromEntries(Array.from({ length: 5000 }, (_none, at) => [`x${at}`, {}]));
  expect(
    checkNameReferences({ tools }, {}, knownNamesOf({ tools: ["a"], prompts: [], search: [] }, {})).errors,
  ).toHaveLength(101);
});

import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { directoryOf } from "../../../src/tenants/directory/directory-stub.ts";
import { policyStore } from "../../../src/tenants/object/policy-store.ts";
import { createRpcClient } from "../../../src/tenants/object/store.ts";
import { ask, newTenant, ORIGIN, rules } from "../../support/workerd/admin.ts";
import { anyTenant } from "../../support/workerd/tenant.ts";

const policyOf = (id: string) => createRpcClient(anyTenant(id), policyStore);
const apply = (id: string, json: unknown, query = "", headers: Readonly<Record<string, string>> = {}) =>
  ask("PUT", `/tenants/${id}/document${query}`, { json, headers });
const leaseOf = (id: string) =>
  policyOf(id).lease({ version: null, maxStalenessMs: 300, inCode: false, keyHash: null });

describe("applying a document", () => {
  it("says what changed, by path, and from when on", async () => {
    const id = await newTenant({ title: "before", tools: { add: { config: { precision: 2 } } } });
    const next = { mode: "open", title: "after", tools: { add: { config: { precision: 3 } } }, search: true };
    const { body, headers } = await apply(id, next);
    expect(body).toMatchObject({
      revision: 2,
      changed: true,
      dryRun: false,
      changes: [
        { path: "search", after: true },
        { path: "title", before: "before", after: "after" },
        { path: "tools.add.config.precision", before: 2, after: 3 },
      ],
    });
    expect(headers.get("etag")).toBe('"2"');
    expect((await ask("GET", `/tenants/${id}/document`)).body).toEqual(next);
  });

  it("changes nothing in a dry run, and says the same", async () => {
    const id = await newTenant({ title: "before" });
    const next = { mode: "open", title: "after" };
    const dry = await apply(id, next, "?dryRun=1");
    expect(dry.body).toMatchObject({ revision: 1, changed: true, dryRun: true, effectiveAt: null });
    expect((await ask("GET", `/tenants/${id}/document`)).body).toMatchObject({ title: "before" });
    const { changes } = (await apply(id, next)).body as { changes: unknown };
    expect((dry.body as { changes: unknown }).changes).toEqual(changes);
  });

  it("is a no-op for what was exported, in whatever order its members are", async () => {
    const document = {
      title: "T",
      tools: { wipe: { enabled: false }, add: { config: { b: 1, a: [2, { d: 1, c: 2 }] } } },
      profiles: { small: { tools: { allow: ["add"] } } },
      prompts: { ask: { messages: [{ role: "user", content: { type: "text", text: "Hi" } }] } },
    };
    const id = await newTenant(document);
    const [line = ""] = (await ask("GET", `/tenants/${id}/export`)).text.split("\n");
    const exported = (JSON.parse(line) as { document: Record<string, unknown> }).document;
    const shuffled = Object.fromEntries(Object.entries(exported).toReversed());
    for (const json of [exported, shuffled]) {
      expect((await apply(id, json)).body).toEqual({
        revision: 1,
        changed: false,
        dryRun: false,
        effectiveAt: null,
        changes: [],
      });
    }
    expect((await ask("GET", `/tenants/${id}/audit`)).body).toMatchObject({ items: [{ sequence: 1 }] });
  });

  it("removes members that are left out", async () => {
    const id = await newTenant({ title: "T", description: "D" });
    await apply(id, { mode: "open" });
    expect((await ask("GET", `/tenants/${id}/document`)).body).toEqual({ mode: "open" });
  });

  it("writes down who, what, before and after", async () => {
    const id = await newTenant({ title: "one" });
    await apply(id, { mode: "open", title: "two" });
    const { items } = (await ask("GET", `/tenants/${id}/audit?limit=1`)).body as { items: unknown[] };
    const [before, after] = [
      { mode: "open", title: "one" },
      { mode: "open", title: "two" },
    ];
    expect(items).toMatchObject([{ sequence: 2, actor: "root", action: "apply", target: "document", before, after }]);
  });

  it("refuses one who read an older revision, also in a dry run", async () => {
    const id = await newTenant();
    const etag = (await ask("GET", `/tenants/${id}/document`)).headers.get("etag") ?? "";
    expect((await apply(id, { mode: "open", title: "first" }, "", { "if-match": etag })).status).toBe(200);
    for (const query of ["", "?dryRun=1"]) {
      const late = await apply(id, { mode: "open", title: "second" }, query, { "if-match": etag });
      expect([late.status, late.headers.get("etag")]).toEqual([412, '"2"']);
    }
    expect((await ask("GET", `/tenants/${id}/document`)).body).toMatchObject({ title: "first" });
    const any = await apply(id, { mode: "open", title: "third" }, "", { "if-match": "*" });
    expect(any.status).toBe(200);
  });

  it("answers 304 to one who has this revision", async () => {
    const id = await newTenant();
    const headers = { "if-none-match": '"1"' };
    expect((await ask("GET", `/tenants/${id}/document`, { headers })).status).toBe(304);
  });

  it("lets every one of many writers without a condition through, one after the other", async () => {
    const id = await newTenant();
    const names = Array.from({ length: 5 }, (_, at) => `p${at}`);
    const prompt = { messages: [{ role: "user", content: { type: "text", text: "Hi" } }] };
    const written = await Promise.all(
      names.map((name) => ask("PUT", `/tenants/${id}/prompts/${name}`, { json: prompt })),
    );
    expect(written.map(({ status }) => status)).toEqual(names.map(() => 200));
    const { items } = (await ask("GET", `/tenants/${id}/prompts`)).body as { items: { name: string }[] };
    expect(items.map(({ name }) => name)).toEqual(names);
  });
});

const say = (text: string) => ({ messages: [{ role: "user", content: { type: "text", text } }] });
const embed = (uri: string) => ({ messages: [{ role: "user", content: { type: "resource", uri } }] });
const argument = (name: string) => ({ name });

describe("a document that breaks a rule", () => {
  it.each<[string, unknown, string, string]>([
    ["has an unknown member deep inside", { tools: { add: { on: true } } }, "tools.add.on", "is not a known field"],
    ["has an origin with a path", { allowedOrigins: ["https://a.example/x"] }, "allowedOrigins.0", "an origin such as"],
    [
      "names an origin twice",
      { allowedOrigins: ["https://a.example", "https://a.example"] },
      "allowedOrigins",
      "twice",
    ],
    ["has a hostname in upper case", { hostnames: ["A.example"] }, "hostnames.0", "a lower-case host name with a dot"],
    ["extends something twice", { extends: ["x", "x"] }, "extends", "must not have an item twice"],
    ["extends what is not there", { extends: ["nothing"] }, "extends.0", "there is no base document nothing"],
    [
      "gives two tools one name",
      { profiles: { p: { tools: { rename: { add: { name: "greet" } } } } } },
      "profiles.p.tools.rename.add.name",
      'another definition is already named "greet"',
    ],
    [
      "renames two tools alike",
      { profiles: { p: { tools: { rename: { add: { name: "x" }, greet: { name: "x" } } } } } },
      "profiles.p.tools.rename.greet.name",
      'another definition is already named "x"',
    ],
    [
      "has a prompt that uses what it does not take",
      { prompts: { p: { ...say("Dear {{name}}"), arguments: [argument("nam")] } } },
      "prompts.p.messages.0.content.text",
      "{{name}} is not an argument of this prompt",
    ],
    [
      "has a prompt with a URI that is none",
      { prompts: { p: embed("no scheme") } },
      "prompts.p.messages.0.content.uri",
      "a URI must start with a scheme",
    ],
    [
      "names an argument twice",
      { prompts: { p: { ...say("Hi"), arguments: [argument("a"), argument("a")] } } },
      "prompts.p.arguments",
      "names must differ",
    ],
    [
      "is too large",
      { prompts: many(say("x".repeat(100_000)), 10) },
      "",
      "the document must have at most 900000 bytes",
    ],
    [
      "has many empty lists",
      { settings: { lists: Array.from({ length: 20_000 }, () => []) } },
      "",
      "the document must have at most 20000 objects and lists",
    ],
  ])("that %s is refused with field and rule, and changes nothing", async (_what, json, field, rule) => {
    const id = await newTenant({ title: "as it was" });
    const refused = await apply(id, json);
    expect(rules(refused)).toEqual([422, [field, expect.stringContaining(rule)]]);
    expect((await ask("GET", `/tenants/${id}`)).body).toMatchObject({ revision: 1, own: { title: "as it was" } });
  });

  it("allows a name that another tool has where that one is hidden or renamed itself", async () => {
    const id = await newTenant();
    const hidden = { tools: { deny: ["greet"], rename: { add: { name: "greet" } } } };
    const swapped = { tools: { rename: { add: { name: "greet" }, greet: { name: "add" } } } };
    expect((await apply(id, { mode: "open", profiles: { hidden, swapped } })).status).toBe(200);
  });
});

function many(prompt: unknown, count: number): Record<string, unknown> {
  return Object.fromEntries(Array.from({ length: count }, (_, at) => [`p${at}`, prompt]));
}

/** A prompt's content that only the whole document shows to be wrong: it names an argument that is not there. */
const WRONG = { type: "text", text: "{{nobody}}" };

describe("base documents", () => {
  const put = (name: string, json: unknown, headers: Readonly<Record<string, string>> = {}) =>
    ask("PUT", `/bases/${name}`, { json, headers });

  it("lie under a tenant in their order, own members winning", async () => {
    expect((await put("lower", { title: "low", description: "low", search: true })).status).toBe(201);
    await put("upper", { title: "up", tools: { add: { enabled: false } } });
    const own = { extends: ["lower", "upper"], mode: "open", description: "own", tools: { wipe: { enabled: false } } };
    const id = await newTenant(own);
    expect((await ask("GET", `/tenants/${id}`)).body).toMatchObject({
      own,
      effective: {
        title: "up",
        description: "own",
        search: true,
        tools: { add: { enabled: false }, wipe: { enabled: false } },
      },
    });
  });

  it("change a tenant when it is applied the next time, and say what", async () => {
    await put("moving", { title: "one" });
    const own = { extends: ["moving"], mode: "open" };
    const id = await newTenant(own);
    await put("moving", { title: "two" });
    expect((await ask("GET", `/tenants/${id}`)).body).toMatchObject({ effective: { title: "one" } });
    expect((await apply(id, own)).body).toMatchObject({ changes: [{ path: "title", before: "one", after: "two" }] });
    expect((await ask("GET", `/tenants/${id}`)).body).toMatchObject({ effective: { title: "two" } });
    expect((await apply(id, own)).body).toMatchObject({ changed: false });
  });

  it("are kept while a tenant extends them, and deleted after", async () => {
    await put("needed", { title: "needed" });
    const id = await newTenant({ extends: ["needed"] });
    expect((await ask("DELETE", "/bases/needed")).status).toBe(409);
    await apply(id, { mode: "open" });
    expect((await ask("DELETE", "/bases/needed")).status).toBe(204);
    expect((await ask("GET", "/bases/needed")).status).toBe(404);
    expect((await ask("DELETE", "/bases/needed")).status).toBe(404);
  });

  it("are not used by a tenant that was refused, and so never made", async () => {
    await put("ghostly", { title: "ghostly" });
    const document = { extends: ["ghostly"], prompts: { p: { messages: [{ role: "user", content: WRONG }] } } };
    expect((await ask("POST", "/tenants", { json: { id: "ghost", document } })).status).toBe(422);
    expect((await ask("DELETE", "/bases/ghostly")).status).toBe(204);
  });

  it("forget tenants that were deleted, and those whose write was cut off", async () => {
    await put("left", { title: "left" });
    const id = await newTenant({ extends: ["left"] });
    await ask("DELETE", `/tenants/${id}`);
    const other = await newTenant();
    const refused = await apply(other, { extends: ["left"], profiles: { p: { title: 1 } } });
    expect(refused.status).toBe(422);
    expect((await apply(other, { extends: ["left"], prompts: { p: say("{{x}}") } })).status).toBe(422);
    expect((await ask("DELETE", "/bases/left")).status).toBe(204);
  });

  it("have revisions, a list, and conditions", async () => {
    const first = await put("kept", { title: "one" });
    expect([first.status, first.headers.get("etag")]).toEqual([201, '"1"']);
    expect((await put("kept", { title: "one" })).body).toEqual({ revision: 1, changed: false, effectiveAt: null });
    expect((await put("kept", { title: "two" }, { "if-match": '"1"' })).body).toMatchObject({ revision: 2 });
    expect((await put("kept", { title: "three" }, { "if-match": '"1"' })).status).toBe(412);
    expect((await put("fresh", { title: "x" }, { "if-match": "*" })).status).toBe(412);
    const got = await ask("GET", "/bases/kept");
    expect([got.body, got.headers.get("etag")]).toEqual([{ title: "two" }, '"2"']);
    const { items } = (await ask("GET", "/bases")).body as { items: unknown[] };
    expect(items).toContainEqual(expect.objectContaining({ name: "kept", revision: 2, tenants: 0 }));
  });

  it.each([
    ["extends", { extends: ["lower"] }],
    ["hostnames", { hostnames: ["a.example"] }],
  ])("have no %s", async (field, json) => {
    expect(rules(await put("bad", json))).toEqual([422, [field, "is not a known field"]]);
    expect((await ask("GET", "/bases/bad")).status).toBe(404);
  });
});

describe("hostnames", () => {
  it("belong to one tenant; a claim of a taken one claims none", async () => {
    const first = await newTenant({ hostnames: ["one.example", "two.example"] });
    const second = await newTenant();
    const taken = await apply(second, { mode: "open", hostnames: ["three.example", "two.example"] });
    expect(rules(taken)).toEqual([409, ["hostnames.1", "two.example belongs to another tenant"]]);
    expect(await directoryOf(env, "three.example").lookupHostname("three.example")).toBeNull();
    expect((await apply(second, { hostnames: ["two.example"] }, "?dryRun=1")).status).toBe(409);
    await apply(first, { mode: "open", hostnames: ["one.example"] });
    expect((await apply(second, { mode: "open", hostnames: ["two.example"] })).status).toBe(200);
    expect(await directoryOf(env, "two.example").lookupHostname("two.example")).toBe(second);
  });

  const OWN = "is a hostname of the Worker itself";
  it.each([
    ["the one that is asked at", new URL(ORIGIN).hostname, {}, OWN],
    ["the one that a proxy was asked at", "edge.example", { headers: { host: "Edge.example.:8443" } }, OWN],
    ["the tenants' domain", "mcp.test", {}, OWN],
    ["a name under it", "acme.mcp.test", {}, "under mcp.test each tenant has the hostname that begins with its id"],
    ["a Worker's at Cloudflare", "tenantry.acme.workers.dev", {}, OWN],
    ["this machine", "localhost.localdomain", {}, OWN],
    ["another of this machine", "mcp.localhost", {}, OWN],
    ["an address", "127.0.0.1", {}, OWN],
  ])("are not %s: %s", async (_what, hostname, asking, rule) => {
    const id = await newTenant();
    const json = { mode: "open", hostnames: ["fit.example", hostname] };
    const more = { json, env: { TENANT_HOST: "mcp.test" }, ...asking };
    for (const query of ["?dryRun=1", ""]) {
      const refused = await ask("PUT", `/tenants/${id}/document${query}`, more);
      expect(rules(refused)).toEqual([422, ["hostnames.1", expect.stringContaining(rule)]]);
    }
    const made = await ask("POST", "/tenants", { ...more, json: { id: `${id}-new`, document: json } });
    expect(rules(made)).toEqual([422, ["hostnames.1", expect.stringContaining(rule)]]);
    for (const name of json.hostnames) expect(await directoryOf(env, name).lookupHostname(name)).toBeNull();
    expect((await ask("GET", `/tenants/${id}-new`)).status).toBe(404);
  });

  it("that became the Worker's own after the claim stay until they are removed", async () => {
    const hostname = `${crypto.randomUUID()}.workers.dev`;
    const id = await newTenant();
    await directoryOf(env, hostname).claimHostname(hostname, { id, created: null });
    expect((await apply(id, { mode: "open", title: "T", hostnames: [hostname] })).status).toBe(200);
    expect((await apply(id, { mode: "open" })).status).toBe(200);
    expect(rules(await apply(id, { mode: "open", hostnames: [hostname] }))).toEqual([
      422,
      ["hostnames.0", `${hostname} is a hostname of the Worker itself`],
    ]);
  });

  it("are not claimed by a dry run or by what is refused", async () => {
    const id = await newTenant();
    await apply(id, { mode: "open", hostnames: ["dry.example"] }, "?dryRun=1");
    await apply(id, { mode: "open", hostnames: ["dry.example"], prompts: { p: say("{{x}}") } });
    expect(await directoryOf(env, "dry.example").lookupHostname("dry.example")).toBeNull();
  });

  it("of a tenant that could not be made are free again", async () => {
    const id = await newTenant();
    const json = { id, document: { hostnames: ["free.example"] } };
    expect((await ask("POST", "/tenants", { json })).status).toBe(409);
    expect(await directoryOf(env, "free.example").lookupHostname("free.example")).toBeNull();
  });
});

describe("when a write answers", () => {
  /** Whether the answer came before the write was in effect. */
  const isEarly = async (work: Promise<{ body: unknown }>) => {
    const { effectiveAt } = (await work).body as { effectiveAt: string | null };
    return effectiveAt !== null && Date.now() < Date.parse(effectiveAt);
  };

  it.each<[string, Record<string, unknown>, Record<string, unknown>]>([
    ["protects a tenant", {}, { mode: "key" }],
    ["disables a tool", {}, { tools: { add: { enabled: false } } }],
    ["removes a profile", { profiles: { p: {} } }, {}],
    ["narrows a profile", { profiles: { p: {} } }, { profiles: { p: { resources: { deny: ["note:*"] } } } }],
    ["narrows a scope", { scopes: { s: { tools: ["*"] } } }, { scopes: { s: { tools: ["add"] } } }],
    ["drops an origin", { allowedOrigins: ["https://a.example"] }, {}],
    ["removes a prompt", { prompts: { p: say("Hi") } }, {}],
  ])("waits for every lease where it %s", async (_what, before, after) => {
    const id = await newTenant({ maxStalenessMs: 300, ...before });
    const leaseAt = Date.now();
    await leaseOf(id);
    expect(await isEarly(apply(id, { mode: "open", maxStalenessMs: 300, ...after }))).toBe(false);
    expect(Date.now()).toBeGreaterThanOrEqual(leaseAt + 300);
  });

  it.each<[string, Record<string, unknown>]>([
    ["says something else", { title: "T", instructions: "I" }],
    ["adds a profile", { profiles: { p: { tools: { allow: ["add"] } } } }],
    ["configures a tool", { tools: { add: { config: 1 } } }],
  ])("comes at once if it only %s, and says when it is in force", async (_what, after) => {
    const id = await newTenant({ maxStalenessMs: 2000 });
    await leaseOf(id);
    const document = { mode: "open", maxStalenessMs: 2000, ...after };
    expect(await isEarly(apply(id, document))).toBe(true);
  });

  it("waits for anything when it is asked to", async () => {
    const id = await newTenant({ maxStalenessMs: 300 });
    const leaseAt = Date.now();
    await leaseOf(id);
    expect(await isEarly(apply(id, { mode: "open", maxStalenessMs: 300, title: "T" }, "?wait=1"))).toBe(false);
    expect(Date.now()).toBeGreaterThanOrEqual(leaseAt + 300);
  });
});

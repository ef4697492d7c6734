import { env, exports } from "cloudflare:workers";
import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { createResourceStore } from "../../../src/resources/tenant-resource-store.ts";
import { contentStore } from "../../../src/resources/content-store.ts";
import { directoryOf } from "../../../src/tenants/directory/directory-stub.ts";
import { storageKey } from "../../../src/tenants/object/tenant-uid.ts";
import { bodyKey } from "../../../src/resources/resource-row.ts";
import { policyStore } from "../../../src/tenants/object/policy-store.ts";
import { createRpcClient } from "../../../src/tenants/object/store.ts";
import { adminEnv, adminOptions, appOf, ask, newTenant, ORIGIN, ROOT, rules } from "../../support/workerd/admin.ts";
import { anyTenant, contentStub } from "../../support/workerd/tenant.ts";

const TEXT = { "content-type": "text/plain" };
const policyOf = (id: string) => createRpcClient(anyTenant(id), policyStore);
const contentOf = (id: string, created: string) => createRpcClient(contentStub(id, created), contentStore);
/** Of every tenant that had the name. */
const bodiesOf = async (id: string) =>
  (await env.BODIES.list({ prefix: `body/${id}` })).keys.map(({ name }) => name).filter(isOf(id));
const isOf = (id: string) => (key: string) => ["/", "@"].includes(key.slice(`body/${id}`.length)[0] ?? "");
const createdOf = async (id: string) => (await policyOf(id).tenantUid(false)) ?? "";

describe("making a tenant", () => {
  it("answers with where it is, and shows the same afterwards", async () => {
    const made = await ask("POST", "/tenants", { json: { id: "new-acme", document: { title: "Acme", mode: "open" } } });
    expect(made.status).toBe(201);
    expect(made.headers.get("location")).toBe("/admin/v1/tenants/new-acme");
    expect(made.body).toMatchObject({
      id: "new-acme",
      state: "active",
      url: `${ORIGIN}/mcp/new-acme`,
      revision: 1,
      own: { title: "Acme", mode: "open" },
      suspended: null,
    });
    expect((await ask("GET", "/tenants/new-acme")).body).toEqual(made.body);
  });

  it.each(["/ai", ""])("says where it is under the path %j at which the Worker is mounted", async (path) => {
    const app = appOf({ ...adminOptions, path });
    const id = `mounted-${path.length}`;
    const request = (method: string, at: string, body?: object) =>
      app.fetch(
        new Request(`${ORIGIN}${path}${at}`, {
          method,
          headers: { authorization: `Bearer ${ROOT}`, "content-type": "application/json" },
          ...(body && { body: JSON.stringify(body) }),
        }),
        adminEnv,
      );
    const made = await request("POST", "/admin/v1/tenants", { id });
    expect(made.headers.get("location")).toBe(`${path}/admin/v1/tenants/${id}`);
    expect(await made.json()).toMatchObject({ url: `${ORIGIN}${path}/mcp/${id}` });
    const { servers } = await (await request("GET", "/admin/openapi.json")).json<{ servers: unknown }>();
    expect(servers).toEqual([{ url: path === "" ? "/" : path }]);
  });

  it("closes a tenant that does not say who gets in", async () => {
    const made = await ask("POST", "/tenants", { json: { id: "closed" } });
    expect(made.body).toMatchObject({ own: {}, effective: { mode: "key" } });
  });

  it.each([
    ["a name of another", "new-acme", "new-acme already exists"],
    ["a name in code", "demo", "demo already exists"],
  ])("refuses %s", async (_what, id, rule) => {
    await ask("POST", "/tenants", { json: { id } });
    expect(rules(await ask("POST", "/tenants", { json: { id } }))).toEqual([409, ["id", rule]]);
  });

  it.each([
    ["", "id", "1 to 40 characters (a-z, 0-9, hyphen) that begin and end with a letter or digit"],
    ["Acme", "id", "1 to 40 characters (a-z, 0-9, hyphen) that begin and end with a letter or digit"],
    ["-acme", "id", "1 to 40 characters (a-z, 0-9, hyphen) that begin and end with a letter or digit"],
    ["acme-", "id", "1 to 40 characters (a-z, 0-9, hyphen) that begin and end with a letter or digit"],
    ["a".repeat(41), "id", "1 to 40 characters (a-z, 0-9, hyphen) that begin and end with a letter or digit"],
    ["xn--acme", "id", "must not start with xn--"],
    ["admin", "id", "is a reserved word"],
  ])("refuses the name %j", async (id, field, rule) => {
    expect(rules(await ask("POST", "/tenants", { json: { id } }))).toEqual([422, [field, rule]]);
  });

  it("makes nothing of a tenant whose document breaks a rule", async () => {
    const json = { id: "broken", document: { maxStalenessMs: 1 }, colour: "red" };
    expect(rules(await ask("POST", "/tenants", { json }))).toEqual([
      422,
      ["maxStalenessMs", "at least 50"],
      ["colour", "is not a known field"],
    ]);
    expect((await directoryOf(env, "broken").lookup("broken")).entry).toBeNull();
  });

  it("in a dry run shows the tenant, and creates nothing", async () => {
    const json = { id: "supposed", document: { title: "T", limits: { keys: 1 }, hostnames: ["supposed.example"] } };
    const supposed = await ask("POST", "/tenants?dryRun=1", { json });
    expect([supposed.status, supposed.body]).toEqual([
      200,
      {
        revision: 0,
        changed: true,
        dryRun: true,
        effectiveAt: null,
        changes: [
          { path: "hostnames", after: ["supposed.example"] },
          { path: "limits", after: { keys: 1 } },
          { path: "title", after: "T" },
        ],
      },
    ]);
    expect((await directoryOf(env, "supposed").lookup("supposed")).entry).toBeNull();
    expect(await directoryOf(env, "supposed.example").lookupHostname("supposed.example")).toBeNull();
    expect((await ask("POST", "/tenants?dryRun=0", { json })).status).toBe(201);
  });

  it("is refused in a dry run for the same reasons as for good", async () => {
    await ask("POST", "/tenants", { json: { id: "first", document: { hostnames: ["first.example"] } } });
    for (const [json, ...refusal] of [
      [{ id: "first" }, 409, ["id", "first already exists"]],
      [{ id: "demo" }, 409, ["id", "demo already exists"]],
      [{ id: "second", jurisdiction: "eu" }, 422, ["jurisdiction", "eu is not available here"]],
      [{ id: "second", document: { extends: ["none"] } }, 422, ["extends.0", "there is no base document none"]],
      [
        { id: "second", document: { hostnames: ["first.example"] } },
        409,
        ["hostnames.0", "first.example belongs to another tenant"],
      ],
    ] as const) {
      for (const query of ["?dryRun=1", ""])
        expect(rules(await ask("POST", `/tenants${query}`, { json }))).toEqual(refusal);
    }
  });

  it("finishes one that was cut off between the directory and the tenant's object", async () => {
    await directoryOf(env, "halfway").add("halfway", { region: null, jurisdiction: null });
    expect((await ask("GET", "/tenants/halfway")).status).toBe(404);
    expect((await ask("POST", "/tenants", { json: { id: "halfway" } })).status).toBe(201);
    expect((await ask("GET", "/tenants/halfway")).status).toBe(200);
  });

  it("makes one of two who ask at once", async () => {
    const both = await Promise.all([1, 2].map(() => ask("POST", "/tenants", { json: { id: "raced" } })));
    expect(new Set(both.map(({ status }) => status))).toEqual(new Set([201, 409]));
  });
});

describe("listing tenants", () => {
  it("pages in id order, tenants in code among them", async () => {
    for (const id of ["list-b", "list-a", "list-c"]) await ask("POST", "/tenants", { json: { id } });
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const query = cursor === undefined ? "limit=2" : `limit=2&cursor=${encodeURIComponent(cursor)}`;
      const page = (await ask("GET", `/tenants?${query}`)).body as { items: { id: string }[]; cursor?: string };
      expect(page.items.length).toBeLessThanOrEqual(2);
      seen.push(...page.items.map(({ id }) => id));
      ({ cursor } = page);
    } while (cursor !== undefined);
    expect(seen).toEqual(seen.toSorted());
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen).toEqual(expect.arrayContaining(["demo", "list-a", "list-b", "list-c", "partial"]));
  });

  it.each([
    ["limit=0", "limit", "at least 1"],
    ["limit=many", "limit", "must be a whole number"],
    ["limit=1&limit=2", "limit", "must be given once"],
    ["cursor=nonsense", "cursor", "is not one of this list"],
    ["page=2", "page", "is not a known parameter"],
  ])("refuses ?%s", async (query, field, rule) => {
    expect(rules(await ask("GET", `/tenants?${query}`))).toEqual([422, [field, rule]]);
  });
});

describe("the end of a tenant", () => {
  async function full(): Promise<string> {
    const id = await newTenant({ hostnames: [`mcp.${crypto.randomUUID()}.example`] });
    for (const name of ["a", "b", "c"]) {
      await ask("PUT", `/tenants/${id}/resources/content?uri=note:${name}`, { body: `text ${name}`, headers: TEXT });
    }
    await ask("DELETE", `/tenants/${id}/resources/content?uri=note:c`);
    await ask("POST", `/tenants/${id}/keys`, { json: { name: "first" } });
    return id;
  }

  it("leaves nothing: no answer, no body, no hostname, no row", async () => {
    const id = await full();
    const [hostname = ""] = (await policyOf(id).read(false))?.own.hostnames ?? [];
    // What an upload that was cut off leaves behind is in no index.
    await env.BODIES.put(bodyKey(storageKey(id, await createdOf(id)), "orphan"), "left behind");
    expect(await bodiesOf(id)).toHaveLength(4);
    expect((await ask("DELETE", `/tenants/${id}`)).status).toBe(204);
    expect((await ask("GET", `/tenants/${id}`)).status).toBe(404);
    expect(await bodiesOf(id)).toEqual([]);
    expect(await directoryOf(env, hostname).lookupHostname(hostname)).toBeNull();
    expect((await directoryOf(env, id).lookup(id)).entry).toBeNull();
    expect(await tablesOf(id)).toEqual([]);
    expect((await ask("DELETE", `/tenants/${id}`)).status).toBe(404);
  });

  it("remembers for an hour that it is over, and then not even that", async () => {
    const id = await full();
    await ask("DELETE", `/tenants/${id}`);
    const object = exports.TenantObject.getByName(id);
    await runInDurableObject(object, (_instance, { storage }) => {
      storage.kv.put("closure", { state: "erased", until: 1 });
    });
    // Only a fresh instance reads it.
    await evictDurableObject(object);
    await runDurableObjectAlarm(exports.TenantObject.getByName(id));
    const left = await runInDurableObject(exports.TenantObject.getByName(id), async (_instance, { storage }) => [
      [...storage.kv.list()],
      await storage.getAlarm(),
    ]);
    expect(left).toEqual([[], null]);
  });

  it("keeps nothing of a late write", async () => {
    const id = await full();
    const created = await createdOf(id);
    const content = contentOf(id, created);
    await ask("DELETE", `/tenants/${id}`);
    const store = createResourceStore({ storageKey: storageKey(id, created), content, bodies: env.BODIES });
    await expect(store.write({ uri: "note:late", name: "late", text: "too late" })).rejects.toThrow();
    expect(await bodiesOf(id)).toEqual([]);
  });

  it("is of the one that was meant, where it says when that was made", async () => {
    const id = await full();
    const first = await createdOf(id);
    expect((await ask("DELETE", `/tenants/${id}?created=${first}`)).status).toBe(204);
    await ask("POST", "/tenants", { json: { id, document: { mode: "open" } } });
    const refused = await ask("DELETE", `/tenants/${id}?created=${first}`);
    expect([refused.status, refused.text]).toEqual([412, expect.stringContaining(await createdOf(id))]);
    expect((await ask("GET", `/tenants/${id}`)).body).toMatchObject({ state: "active" });
    expect((await ask("DELETE", `/tenants/${id}?created=${await createdOf(id)}`)).status).toBe(204);
  });

  it("ends leases first", async () => {
    const id = await newTenant({ maxStalenessMs: 300 });
    const lease = { version: null, maxStalenessMs: 5000, inCode: false, keyHash: null };
    expect(await policyOf(id).lease(lease)).toMatchObject({ state: "granted" });
    const before = Date.now();
    await ask("DELETE", `/tenants/${id}`);
    expect(Date.now() - before).toBeGreaterThanOrEqual(300);
    expect(await policyOf(id).lease(lease)).toEqual({ state: "absent" });
  });

  it.each([
    ["marked", () => Promise.resolve()],
    ["closed", async (id: string) => policyOf(id).close(await createdOf(id))],
    [
      "half empty",
      async (id: string) => {
        const created = await createdOf(id);
        await policyOf(id).close(created);
        await contentOf(id, created).purge(1);
      },
    ],
    ["empty", async (id: string) => [await policyOf(id).close(await createdOf(id)), await policyOf(id).erase()]],
  ])("resumes after an interruption: %s", async (_state, until) => {
    const id = await full();
    const { entry } = await directoryOf(env, id).lookup(id);
    if (entry) await directoryOf(env, id).markDeleting(entry);
    await until(id);
    expect((await ask("GET", `/tenants/${id}`)).body).toMatchObject({ state: "deleting" });
    const refused = await ask("PUT", `/tenants/${id}/document`, { json: {} });
    expect(refused.status).toBe(409);
    expect((await ask("POST", "/tenants", { json: { id } })).status).toBe(409);
    expect((await ask("DELETE", `/tenants/${id}`)).status).toBe(204);
    expect(await bodiesOf(id)).toEqual([]);
    expect((await ask("GET", `/tenants/${id}`)).status).toBe(404);
  });

  it("lets the name be used again, with nothing of the first", async () => {
    const id = await full();
    await ask("DELETE", `/tenants/${id}`);
    expect((await ask("POST", "/tenants", { json: { id } })).status).toBe(201);
    expect((await ask("GET", `/tenants/${id}/resources`)).body).toEqual({ items: [] });
    expect((await ask("GET", `/tenants/${id}/keys`)).body).toEqual({ items: [] });
    expect((await ask("GET", `/tenants/${id}/audit`)).body).toMatchObject({ items: [{ action: "create" }] });
    const put = await ask("PUT", `/tenants/${id}/resources/content?uri=note:a`, { body: "anew", headers: TEXT });
    expect(put.status).toBe(201);
  });

  it("is refused to a tenant in code", async () => {
    expect((await ask("DELETE", "/tenants/demo")).status).toBe(409);
    expect((await ask("GET", "/tenants/demo")).body).toMatchObject({ state: "code" });
  });

  it("is written down where it outlives the tenant", async () => {
    const id = await full();
    await ask("DELETE", `/tenants/${id}`);
    const { items } = (await ask("GET", "/audit?limit=1")).body as { items: unknown[] };
    expect(items).toMatchObject([{ actor: "root", action: "tenant.delete", target: `tenant ${id}`, after: null }]);
  });
});

it("a request for a tenant that does not exist wakes no object", async () => {
  const woken: string[] = [];
  const TenantObject = new Proxy(exports.TenantObject, {
    get: (target, member) => {
      woken.push(String(member));
      return Reflect.get(target, member) as unknown;
    },
  });
  for (const path of [
    "/tenants/nobody",
    "/tenants/nobody/document",
    "/tenants/nobody/keys",
    "/tenants/nobody/export",
  ]) {
    expect((await ask("GET", path, { env: { ...adminEnv, TenantObject } })).status).toBe(404);
  }
  expect(woken).toEqual([]);
});

function tablesOf(id: string): Promise<unknown[]> {
  return runInDurableObject(exports.TenantObject.getByName(id), (_instance, { storage }) =>
    storage.sql.exec("SELECT name FROM sqlite_master WHERE name NOT LIKE '\\_cf%' ESCAPE '\\'").toArray(),
  );
}

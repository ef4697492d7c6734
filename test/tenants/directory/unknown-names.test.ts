import { createExecutionContext, runInDurableObject, waitOnExecutionContext } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createWorker, type Env } from "../../../src/tenantry.ts";
import { findPlacement } from "../../../src/tenants/directory/directory.ts";
import { directoryOf } from "../../../src/tenants/directory/directory-stub.ts";
import { withNamespaces } from "../../../src/tenants/directory/namespaces.ts";
import { placementKey } from "../../../src/tenants/directory/placement.ts";
import { evictPolicy } from "../../../src/tenants/cache/policy-cache.ts";
import { adminEnv, ask, ORIGIN } from "../../support/workerd/admin.ts";
import { freshAddress } from "../../support/workerd/tenant.ts";

const NOW = Date.UTC(2026, 10, 23, 12);
const ANYWHERE = { jurisdiction: null, region: null };
const open = createWorker({ hooks: { onError: () => {} } });

/** Calls to objects, `DirectoryObject names-3`, in order; all that were named were asked something. */
let calls: string[] = [];
const bindings = adminEnv as unknown as Env;
const counted: Env = Object.fromEntries(
  Object.entries(withNamespaces(bindings)).map(([name, binding]) => [name, counting(name, binding)]),
) as unknown as Env;

function counting(name: string, binding: unknown): unknown {
  const objects = binding as DurableObjectNamespace;
  if (typeof objects.getByName !== "function") return binding;
  return new Proxy(objects, {
    get: (target, member) => {
      if (member !== "getByName") return Reflect.get(target, member, target) as unknown;
      return (...about: Parameters<DurableObjectNamespace["getByName"]>) => {
        calls.push(`${name} ${String(about[0])}`);
        return objects.getByName(...about);
      };
    },
  });
}

const HERE = freshAddress();

async function ping(tenant: string, address = HERE): Promise<Response> {
  const headers = { "content-type": "application/json", "cf-connecting-ip": address };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });
  const ctx = createExecutionContext();
  const answered = await open.fetch(
    new Request(`${ORIGIN}/mcp/${tenant}`, { method: "POST", headers, body }),
    counted,
    ctx,
  );
  await waitOnExecutionContext(ctx);
  return answered;
}

beforeEach(() => {
  calls = [];
});
afterEach(() => {
  vi.useRealTimers();
});

const tablesIn = (stub: DurableObjectStub) =>
  runInDurableObject(stub, (_instance, { storage: { sql } }) =>
    sql
      .exec<{ name: string }>("SELECT name FROM sqlite_master")
      .toArray()
      .map(({ name }) => name)
      .filter((name) => !name.startsWith("_cf_")),
  );

describe("a cold call of a tenant", () => {
  it("is one call to an object, its lease, where KV has its placement", async () => {
    const id = "one-of-them";
    await ask("POST", "/tenants", { json: { id, document: { mode: "open" } } });
    await expect.poll(() => findPlacement(env, id)).not.toBeNull();
    evictPolicy(id);
    calls = [];
    expect((await ping(id)).status).toBe(200);
    expect(calls).toEqual([`TenantObject ${id}`]);
    expect((await ping(id)).status).toBe(200);
    expect(calls.length).toBe(1);
  });
});

const ROWS =
  "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_cf\\_%' ESCAPE '\\' ORDER BY name";

/** How many rows each table has. */
function rowsOf(sql: SqlStorage): Record<string, number> {
  const names = sql.exec<{ name: string }>(ROWS).toArray();
  return Object.fromEntries(
    names.map(({ name }) => [name, sql.exec<{ rows: number }>(`SELECT count(*) AS rows FROM ${name}`).one().rows]),
  );
}

const keysOf = async (bodies: KVNamespace) => (await bodies.list()).keys.map(({ name }) => name);

describe("a thousand unknown names from one address", () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["Date"], now: NOW });
  });

  it("are a hundred calls to objects at most, then 429 with Retry-After, and store nothing", async () => {
    const sizes = async () =>
      Promise.all(
        Array.from({ length: 16 }, (_, at) =>
          runInDurableObject(exports.DirectoryObject.getByName(`names-${at}`), (_instance, { storage: { sql } }) =>
            rowsOf(sql),
          ),
        ),
      );
    const [before, keys] = [await sizes(), await keysOf(env.BODIES)];
    const statuses: number[] = [];
    const address = freshAddress();
    for (let at = 0; at < 1000; at += 1) {
      const answered = await ping(`nobody-${at}`, address);
      statuses.push(answered.status);
      if (answered.status === 429 && at === 999) expect(Number(answered.headers.get("retry-after"))).toBeGreaterThan(0);
    }
    expect(calls.length).toBeLessThanOrEqual(100);
    expect(new Set(calls.map((call) => call.split(" ")[0]))).toEqual(new Set(["DirectoryObject"]));
    const first = statuses.indexOf(429);
    expect(first).toBeGreaterThan(0);
    expect(new Set(statuses.slice(0, first))).toEqual(new Set([401]));
    expect(new Set(statuses.slice(first))).toEqual(new Set([429]));
    expect(await sizes()).toEqual(before);
    expect(await keysOf(env.BODIES)).toEqual(keys);
  });
});

describe("the object of a tenant that does not exist", () => {
  it("stores nothing for requests, and has tables when there is a tenant", async () => {
    // A name is unknown for two seconds, however slow the machine is.
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
    const id = "never-made";
    // As KV may have it of one that was deleted a moment ago.
    await env.BODIES.put(placementKey(id), JSON.stringify({ created: "2026-11-20T10:00:00.000123Z", ...ANYWHERE }));
    calls = [];
    expect((await ping(id)).status).toBe(401);
    expect(calls.map((call) => call.split(" ")[0])).toEqual(["TenantObject", "DirectoryObject"]);
    expect(await tablesIn(exports.TenantObject.getByName(id))).toEqual([]);
    expect((await ping(id)).status).toBe(401);
    expect(calls.length).toBe(2);
    await env.BODIES.delete(placementKey(id));
    await ask("POST", "/tenants", { json: { id, document: { mode: "open" } } });
    expect((await ping(id)).status).toBe(200);
    expect(await tablesIn(exports.TenantObject.getByName(id))).toContain("tenant");
  });

  it("answers an author's change notice, and stores nothing", async () => {
    const { tenant } = open;
    await tenant(counted, "never-changed").invalidate();
    expect(await tablesIn(exports.TenantObject.getByName("never-changed"))).toEqual([]);
  });
});

describe("a tenant that was just made", () => {
  it("is served although KV still says that it does not exist", async () => {
    await ask("POST", "/tenants", { json: { id: "just-made", document: { mode: "open" } } });
    const BODIES = new Proxy(env.BODIES, {
      get: (target, member) =>
        member === "get" ? async () => null : (Reflect.get(target, member, target) as () => unknown).bind(target),
    });
    const ctx = createExecutionContext();
    const request = new Request(`${ORIGIN}/mcp/just-made`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }),
    });
    expect((await open.fetch(request, { ...counted, BODIES }, ctx)).status).toBe(200);
    await waitOnExecutionContext(ctx);
    expect(calls.map((call) => call.split(" ")[0])).toEqual(["DirectoryObject", "TenantObject"]);
  });

  it("takes the place of one of its name that KV still has, with one call", async () => {
    const made = await ask("POST", "/tenants", { json: { id: "made-again", document: { mode: "open" } } });
    await expect.poll(() => findPlacement(env, "made-again")).not.toBeNull();
    await env.BODIES.put(
      placementKey("made-again"),
      JSON.stringify({ created: "2026-11-20T10:00:00.000123Z", ...ANYWHERE }),
    );
    evictPolicy("made-again");
    calls = [];
    expect((await ping("made-again")).status).toBe(200);
    expect(calls).toEqual(["TenantObject made-again"]);
    expect(made.status).toBe(201);
  });
});

it("a hostname is not asked about while the isolate has a lease of the tenant whose document lists it", async () => {
  const document = { mode: "open", hostnames: ["leased.example"], maxStalenessMs: 10_000 };
  expect((await ask("POST", "/tenants", { json: { id: "leased", document } })).status).toBe(201);
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
  const come = async () => {
    calls = [];
    const ctx = createExecutionContext();
    const request = new Request("https://leased.example/mcp", {
      method: "POST",
      headers: { "content-type": "application/json", host: "leased.example" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }),
    });
    const { status } = await open.fetch(request, { ...counted, TENANT_HOST: "mcp.test" }, ctx);
    await waitOnExecutionContext(ctx);
    expect(status).toBe(200);
    return calls.map((call) => call.split(" ")[0]);
  };
  await come();
  // Later in it, the lease would be renewed.
  vi.setSystemTime(Date.now() + 6000);
  expect(await come()).toEqual([]);
  vi.setSystemTime(Date.now() + 9000);
  expect(await come()).toEqual(["DirectoryObject", "TenantObject"]);
});

describe.each(["2025-11-25", "2026-07-28"])("an overloaded object, in %s", (revision) => {
  it.each(["overloaded", "retryable"])(
    "is 503 with Retry-After, in the directory or the authority: %s",
    async (what) => {
      const fails = () => Promise.reject(Object.assign(new Error("Durable Object is overloaded."), { [what]: true }));
      const away = { getByName: () => ({ lookup: fails, "policy.lease": fails }) };
      const id = `too-much-${what}-${revision}`;
      await directoryOf(env, id).add(id, ANYWHERE);
      for (const broken of [{ DirectoryObject: away }, { TenantObject: away }]) {
        const ctx = createExecutionContext();
        const request = new Request(`${ORIGIN}/mcp/${id}`, {
          method: "POST",
          headers: { "content-type": "application/json", "mcp-protocol-version": revision },
          body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
        });
        const BODIES = { get: async () => null } as unknown as KVNamespace;
        const answered = await open.fetch(request, Object.assign({}, bindings, { BODIES }, broken) as Env, ctx);
        expect(answered.status).toBe(503);
        expect(Number(answered.headers.get("retry-after"))).toBeGreaterThan(0);
        expect(await answered.json()).toMatchObject({ jsonrpc: "2.0", error: { code: -32603 } });
      }
    },
  );
});

// The local platform has no jurisdictions: here each one is another set of objects, told apart by their names, behind
// the same calls.

import { createExecutionContext } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createWorker, type Env } from "../../../src/tenantry.ts";
import { storageKey } from "../../../src/tenants/object/tenant-uid.ts";
import { policyStore } from "../../../src/tenants/object/policy-store.ts";
import { createRpcClient } from "../../../src/tenants/object/store.ts";
import { directoryOf } from "../../../src/tenants/directory/directory-stub.ts";
import type { DirectoryEntry } from "../../../src/tenants/directory/directory-object.ts";
import { placementKey } from "../../../src/tenants/directory/placement.ts";
import { tenantStubOf } from "../../../src/tenants/directory/tenant-stubs.ts";
import { evictPolicy, peekPolicy } from "../../../src/tenants/cache/policy-cache.ts";
import { createKey } from "../../../src/auth/api-key.ts";
import { adminEnv, ORIGIN } from "../../support/workerd/admin.ts";

const NOW = Date.UTC(2026, 10, 23, 12);
const ANN = { name: "ann" };
const worker = createWorker({ hooks: { onError: () => {} } });

/** Which objects were asked, in order, as `TenantObject eu/acme`. */
let calls: string[] = [];

function placed(binding: string, objects: DurableObjectNamespace, prefix = ""): DurableObjectNamespace {
  return new Proxy(objects, {
    get: (target, member) => {
      if (member === "jurisdiction") return (where: string) => placed(binding, objects, `${where}/`);
      if (member !== "getByName") return Reflect.get(target, member, target) as unknown;
      return (...[name, near]: Parameters<DurableObjectNamespace["getByName"]>) => {
        calls.push(`${binding} ${prefix}${String(name)}`);
        return objects.getByName(`${prefix}${String(name)}`, near);
      };
    },
  });
}

const whole = adminEnv;
const world = {
  ...whole,
  TenantObject: placed("TenantObject", exports.TenantObject),
  ContentObject: placed("ContentObject", exports.ContentObject),
  DirectoryObject: placed("DirectoryObject", exports.DirectoryObject),
} as unknown as Env;

interface SentRequest {
  readonly status: number;
  readonly text: string;
  readonly calls: readonly string[];
}

/** What the isolate does for one request; `DirectoryObject names-3` as `DirectoryObject`. */
async function ask(tenant: string, method = "ping", key?: string): Promise<SentRequest> {
  calls = [];
  const authorization = key === undefined ? {} : { authorization: `Bearer ${key}` };
  const headers = { "content-type": "application/json", ...authorization };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method });
  const request = new Request(`${ORIGIN}/mcp/${tenant}`, { method: "POST", headers, body });
  const answered = await worker.fetch(request, world, createExecutionContext());
  return {
    status: answered.status,
    text: await answered.text(),
    calls: calls.map((call) => call.replace(/^DirectoryObject .*/, "DirectoryObject")),
  };
}

const policyAt = ({ id, created, jurisdiction, region }: DirectoryEntry) =>
  createRpcClient(tenantStubOf(world, { id, placement: { jurisdiction, region, created }, uid: "*" }), policyStore);

/** As the admin API of another isolate does, of which this one hears nothing. */
async function make(id: string, jurisdiction: string | null, mode: "open" | "key" = "open"): Promise<DirectoryEntry> {
  const entry = await directoryOf(world, id).add(id, { jurisdiction, region: null });
  const document = { mode, title: `in ${jurisdiction}` };
  const birth = { created: entry.created, own: document, effective: document, actor: ANN, action: "create" };
  expect(await policyAt(entry).create(birth)).toMatchObject({ state: "written" });
  return entry;
}

async function end(entry: DirectoryEntry): Promise<void> {
  await policyAt(entry).close(entry.created);
  await directoryOf(world, entry.id).remove(entry);
}

const later = (milliseconds: number) => vi.setSystemTime(Date.now() + milliseconds);

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: NOW });
});
afterEach(() => {
  vi.useRealTimers();
});

const at = (jurisdiction: string | null, id: string) =>
  `TenantObject ${jurisdiction === null ? "" : `${jurisdiction}/`}${id}`;

describe.each([
  [null, "eu"],
  ["eu", null],
  ["eu", "fedramp"],
] as const)("a tenant of %s that is made again in %s", (before, after) => {
  const nameOf = (what: string) => `moved-${what}-${before}-${after}`;

  it("is found by an isolate that held the one before it, when that lease has ended, and remembered there", async () => {
    const id = nameOf("held");
    const old = await make(id, before);
    expect(await ask(id)).toMatchObject({ status: 200 });
    expect(peekPolicy(id)?.placement.jurisdiction).toBe(before);
    await end(old);
    const made = await make(id, after);
    later(6000);
    expect(await ask(id)).toMatchObject({ status: 200, calls: [at(before, id), "DirectoryObject", at(after, id)] });
    expect(peekPolicy(id)).toMatchObject({ created: made.created, placement: { jurisdiction: after } });
    expect(await ask(id)).toMatchObject({ status: 200, calls: [] });
    later(6000);
    expect(await ask(id)).toMatchObject({ status: 200, calls: [at(after, id)] });
  });

  it("is found where KV still says where the one before it was", async () => {
    const id = nameOf("read");
    const old = await make(id, before);
    await end(old);
    const made = await make(id, after);
    const { created, region } = old;
    const BODIES = new Proxy(env.BODIES, {
      get: (kv, member) =>
        member === "get"
          ? async (key: string) => (key === placementKey(id) ? { created, region, jurisdiction: before } : null)
          : (Reflect.get(kv, member) as () => unknown).bind(kv),
    });
    evictPolicy(id);
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });
    const headers = { "content-type": "application/json" };
    const request = new Request(`${ORIGIN}/mcp/${id}`, { method: "POST", headers, body });
    expect((await worker.fetch(request, { ...world, BODIES }, createExecutionContext())).status).toBe(200);
    expect(peekPolicy(id)).toMatchObject({ created: made.created, placement: { jurisdiction: after } });
  });

  it("has its content in its own place, and none of the one before it", async () => {
    const id = nameOf("stored");
    const old = await make(id, before);
    expect((await ask(id, "resources/list")).calls.at(-1)).toContain(storageKey(id, old.created));
    await end(old);
    const made = await make(id, after);
    later(6000);
    const listed = await ask(id, "resources/list");
    expect(listed).toMatchObject({ status: 200 });
    const content = listed.calls.filter((call) => call.startsWith("ContentObject"));
    expect(content).toEqual([at(after, storageKey(id, made.created)).replace("TenantObject", "ContentObject")]);
  });

  it("takes no key of the one before it, and its own", async () => {
    const id = nameOf("keyed");
    const keys = [await createKey(), await createKey()];
    const [first, second] = keys;
    if (!first || !second) throw new Error("there are two");
    const add = (entry: DirectoryEntry, { id: keyId, hash }: typeof first) =>
      policyAt(entry).addKey({ id: keyId, name: "k", hash, scopes: null, profile: null, expires: null }, ANN, 10);
    const old = await make(id, before, "key");
    await add(old, first);
    expect(await ask(id, "ping", first.token)).toMatchObject({ status: 200 });
    await end(old);
    await add(await make(id, after, "key"), second);
    later(6000);
    expect(await ask(id, "ping", first.token)).toMatchObject({ status: 401 });
    expect(await ask(id, "ping", second.token)).toMatchObject({ status: 200 });
  });

  it("is unknown while there is none, and is found again then", async () => {
    const id = nameOf("between");
    const old = await make(id, before);
    expect(await ask(id)).toMatchObject({ status: 200 });
    await end(old);
    later(6000);
    expect(await ask(id)).toMatchObject({ status: 401 });
    expect(peekPolicy(id)).toBeUndefined();
    await make(id, after);
    later(6000);
    expect(await ask(id)).toMatchObject({ status: 200 });
  });
});

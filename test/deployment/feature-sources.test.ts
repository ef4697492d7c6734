// What a feature's sources are made of: sections brought once, brought again soon where one was missing.

import { createExecutionContext } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { BuiltInFeature } from "../../src/deployment/deployment.ts";
import { createLeasedSections, sectionPlace } from "../../src/deployment/leased-sections.ts";
import { createWorker, type Env, type SourceTool } from "../../src/tenantry.ts";
import { policyStore } from "../../src/tenants/object/policy-store.ts";
import { sectionsIn } from "../../src/tenants/object/section-hash-store.ts";
import { sectionKey, sectionStore } from "../../src/tenants/object/section-store.ts";
import { createRpcClient } from "../../src/tenants/object/store.ts";
import { directoryOf } from "../../src/tenants/directory/directory-stub.ts";
import { peekPolicy } from "../../src/tenants/cache/policy-cache.ts";
import { writeSection } from "../../src/tenants/cache/section-cache.ts";
import { freshTenant, inside, NO_UID } from "../support/workerd/tenant.ts";
import { callOn, keeperOf } from "../support/workerd/object-calls.ts";

afterEach(() => {
  vi.useRealTimers();
});

/** One tool for each line of the section `shelf`. */
function linesFeature(): BuiltInFeature {
  const tool = (name: string): SourceTool => ({
    name,
    wire: { name, inputSchema: { type: "object" } },
    paramHeaders: [],
    repeatable: true,
    call: async () => ({ kind: "complete", result: { content: [] } }),
  });
  return {
    name: "lines",
    sections: createLeasedSections((name) => name === "shelf"),
    sources: ({ sections }) => {
      const section = sections.get("shelf");
      const names = section ? new TextDecoder().decode(section.bytes).split("\n") : [];
      const state = section ? ({ kind: "fresh" } as const) : ({ kind: "degraded", why: "no shelf" } as const);
      const nothing = { prompts: [], resources: [], templates: [] };
      return [{ id: "lines", state, tools: names.map(tool), ...nothing }];
    },
  };
}

async function made(shelf: string) {
  const tenant = freshTenant();
  const { id, stub } = tenant;
  await directoryOf(env, id).add(id, { jurisdiction: null, region: null });
  const document = { mode: "open" } as const;
  await createRpcClient(stub, policyStore).create({
    created: NO_UID,
    own: document,
    effective: document,
    actor: { name: "ann" },
    action: "apply",
  });
  const place = sectionPlace(id, env.BODIES, () => stub);
  const bytes = new TextEncoder().encode(shelf);
  await writeSection(place, { name: "shelf", bytes });
  const [[, hash] = ["", ""]] = await inside(tenant, ({ storage }) => sectionsIn(storage.sql));
  return { ...tenant, hash };
}

/** KV of which these members are as given. */
function withBodies(members: Partial<Record<keyof KVNamespace, (...args: unknown[]) => unknown>>): Env {
  const BODIES = new Proxy(env.BODIES, {
    get: (kv, member) => {
      const other = members[member as keyof KVNamespace];
      const own = Reflect.get(kv, member) as (...args: unknown[]) => unknown;
      return other ?? own.bind(kv);
    },
  });
  return { ...env, BODIES };
}

async function toolsOf(worker: ReturnType<typeof createWorker>, id: string, bindings: Env = env) {
  const request = new Request(`https://mcp.example.com/mcp/${id}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
  });
  const response = await worker.fetch(request, bindings, createExecutionContext());
  const { result } = await response.json<{ result: { tools: { name: string }[]; _meta?: object } }>();
  return { names: result.tools.map(({ name }) => name), missing: result._meta !== undefined };
}

describe("a feature's sections", () => {
  it("become its sources, and those of no feature are not read", async () => {
    const { id } = await made("one\ntwo");
    const worker = createWorker({ tenants: {}, features: [linesFeature()] });
    expect(await toolsOf(worker, id)).toEqual({ names: ["one", "two"], missing: false });
    expect(await toolsOf(createWorker({ tenants: {} }), id)).toEqual({ names: [], missing: false });
  });

  it.each([
    ["soon", 6_000],
    ["when a clock is set right that was ahead", -3_600_000],
  ])("that cannot be loaded leave the source degraded, and are loaded again %s", async (_when, laterMs) => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const text = crypto.randomUUID();
    const tenant = await made(text);
    const body = new TextEncoder().encode(text);
    await env.BODIES.delete(sectionKey(tenant.id, tenant.hash));
    await inside(tenant, ({ storage }) => storage.sql.exec("DELETE FROM section_parts"));
    const worker = createWorker({ tenants: {}, features: [linesFeature()] });
    expect(await toolsOf(worker, tenant.id)).toEqual({ names: [], missing: true });
    await env.BODIES.put(sectionKey(tenant.id, tenant.hash), body);
    // KV keeps for a while that it had nothing; the authority has the body by then.
    await inside(tenant, ({ storage }) =>
      storage.sql.exec("INSERT INTO section_parts (hash, position, part) VALUES (?, 0, ?)", tenant.hash, body),
    );
    expect((await toolsOf(worker, tenant.id)).missing).toBe(true);
    vi.setSystemTime(Date.now() + laterMs);
    expect(await toolsOf(worker, tenant.id)).toEqual({ names: [text], missing: false });
    expect(await createRpcClient(tenant.stub, sectionStore).body(tenant.hash)).not.toBeNull();
  });

  it.each<[string, () => Promise<never>]>([
    ["fails", () => Promise.reject(new Error("KV 500"))],
    ["never answers", () => new Promise(() => {})],
  ])("are what the authority has where KV %s", async (_what, get) => {
    const text = crypto.randomUUID();
    const { id } = await made(text);
    const worker = createWorker({ tenants: {}, features: [linesFeature()] });
    expect(await toolsOf(worker, id, withBodies({ get }))).toEqual({ names: [text], missing: false });
  });

  it("are missing where neither KV nor the authority answers in time, and nothing else is", async () => {
    const { id, object } = await made(crypto.randomUUID());
    const keeper = keeperOf((method, args) =>
      method === "sections.body" ? new Promise(() => {}) : callOn(object, method, ...args),
    );
    const TenantObject = new Proxy(exports.TenantObject, {
      get: (objects, member) => (member === "getByName" ? () => keeper : (Reflect.get(objects, member) as unknown)),
    });
    const worker = createWorker({ tenants: {}, features: [linesFeature()] });
    const bindings = { ...withBodies({ get: () => new Promise(() => {}) }), TenantObject };
    expect(await toolsOf(worker, id, bindings)).toEqual({ names: [], missing: true });
  }, 120_000);

  it("count towards what an isolate holds of all tenants, so that what is made of them is bounded", async () => {
    // Each counts as 7 MiB with what is made of it, of the 62 that an isolate holds.
    const size = 1.75 * 1024 * 1024;
    const tenants: string[] = [];
    for (let at = 0; at < 9; at += 1) tenants.push((await made(String(at).repeat(size))).id);
    const worker = createWorker({ tenants: {}, features: [{ ...linesFeature(), sources: () => [] }] });
    const offers = () => tenants.map((id) => peekPolicy(id)?.catalogMemo.size);
    for (const id of tenants) await toolsOf(worker, id);
    // The leases count elsewhere, and stay.
    const first = offers();
    expect(first.filter((count) => count === 1)).toHaveLength(8);
    // Asked again they cost nothing more.
    for (const id of tenants.filter((_id, at) => first[at] === 1)) await toolsOf(worker, id);
    expect(offers()).toEqual(first);
  });
});

// Tenants that an author's function knows, as from a database: what it says is leased as a document is, so a request under a
// lease asks nobody, and what is withdrawn there is withdrawn here. What it does not know is made nowhere.

import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { createKey } from "../../src/auth/api-key.ts";
import { createWorker, definePrompt, defineTool, TenantError, type TenantDefinition } from "../../src/tenantry.ts";
import { directoryOf } from "../../src/tenants/directory/directory-stub.ts";
import { policyStore } from "../../src/tenants/object/policy-store.ts";
import { createRpcClient } from "../../src/tenants/object/store.ts";
import { evictPolicy } from "../../src/tenants/cache/policy-cache.ts";
import { authorityAway, readerOf, sendTo, servedTenant, sessionAt } from "../support/workerd/served-tenant.ts";
import { anyTenant, freshAddress, freshTenant, type FreshTenant } from "../support/workerd/tenant.ts";
import { endLease, stopClock } from "./lease-clock.ts";

const LEASE_MS = 400;
const ANN = { name: "ann" };

const toolNamed = (name: string, annotations = {}) =>
  defineTool({ name, description: name, annotations, handler: (_args, ctx) => `${name} of ${ctx.tenant.id}` });

/** A database of tenants, and the Worker that asks it. */
function setup() {
  const rows = new Map<string, TenantDefinition>();
  const asks: string[] = [];
  const faults: unknown[] = [];
  const state: { broken: Error | undefined } = { broken: undefined };
  const mcp = createWorker({
    tenants: async (id) => {
      asks.push(id);
      await Promise.resolve();
      if (state.broken) throw state.broken;
      return rows.get(id);
    },
    tools: [toolNamed("see", { readOnlyHint: true }), toolNamed("write"), toolNamed("write_all")],
    prompts: [definePrompt({ name: "hello", handler: () => "hello" })],
    hooks: { onError: (error) => faults.push(error) },
  });
  const add = (definition: TenantDefinition = {}): FreshTenant => {
    const tenant = freshTenant();
    rows.set(tenant.id, { maxStalenessMs: LEASE_MS, ...definition });
    return tenant;
  };
  return { rows, asks, faults, state, mcp, add };
}

const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "t", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {},
};
const ERAS = [
  { era: "2025", version: "2025-11-25", meta: undefined },
  { era: "2026", version: "2026-07-28", meta: META },
] as const;

type Era = (typeof ERAS)[number];
type Mcp = ReturnType<typeof setup>["mcp"];

/** Lists the tools, or calls the one that is named. */
async function send(mcp: Mcp, path: string, { era, version, meta }: Era, name?: string) {
  const method = name === undefined ? "tools/list" : "tools/call";
  const params = { ...(name !== undefined && { name }), ...(meta && { _meta: meta }) };
  const mirrored = { "mcp-method": method, ...(name !== undefined && { "mcp-name": name }) };
  const headers = { "mcp-protocol-version": version, ...(era === "2026" && mirrored) };
  const answered = await sendTo(mcp, path, { message: { jsonrpc: "2.0", id: 1, method, params }, headers });
  return { status: answered.status, headers: answered.headers, body: await answered.json<Answered>() };
}

interface Answered {
  readonly result?: { readonly tools?: readonly { readonly name: string }[]; readonly content?: unknown };
  readonly error?: { readonly message: string };
}

const listed = async (mcp: Mcp, path: string, era: Era) =>
  (await send(mcp, path, era)).body.result?.tools?.map(({ name }) => name);

beforeEach(stopClock);

describe.each(ERAS)("a tenant that the author's function knows, in era $era", (era) => {
  it("is served, and looked up at the start of a lease and not under it", async () => {
    const { mcp, add, asks } = setup();
    const { id } = add({ maxStalenessMs: 2000 });
    const call = () => send(mcp, id, era, "see");
    expect((await call()).body.result?.content).toEqual([{ type: "text", text: `see of ${id}` }]);
    // Once whether there is such a tenant, and once under the lease that it then got.
    expect(asks).toEqual([id, id]);
    for (let at = 0; at < 5; at += 1) expect((await call()).status).toBe(200);
    expect(asks.length).toBe(2);
    endLease(id);
    await call();
    await call();
    expect(asks.length).toBe(3);
  });

  it("has the tools of its patterns, or of its predicate, and its profiles and scopes", async () => {
    const { mcp, add } = setup();
    expect(await listed(mcp, add({ tools: ["write*"] }).id, era)).toEqual(["write", "write_all"]);
    const readOnly: TenantDefinition["tools"] = ({ annotations }) =>
      (annotations as { readOnlyHint?: boolean } | undefined)?.readOnlyHint === true;
    expect(await listed(mcp, add({ tools: readOnly }).id, era)).toEqual(["see"]);
    // A promise says nothing yet, so it shows nothing.
    const late = (() => Promise.resolve(true)) as never;
    expect(await listed(mcp, add({ tools: late }).id, era)).toEqual([]);
    const profiles = { small: { tools: { deny: ["write*"], rename: { see: { name: "look" } } } } };
    const { id } = add({ profiles });
    expect(await listed(mcp, `${id}/small`, era)).toEqual(["look"]);
    expect((await send(mcp, `${id}/large`, era)).status).toBe(404);
  });

  it("changes with what the function says, from the next lease on", async () => {
    const { mcp, add, rows } = setup();
    const { id } = add({ tools: ["see"] });
    expect(await listed(mcp, id, era)).toEqual(["see"]);
    rows.set(id, { maxStalenessMs: LEASE_MS, tools: (tool) => tool.name !== "see" });
    endLease(id);
    expect(await listed(mcp, id, era)).toEqual(["write", "write_all"]);
    rows.delete(id);
    endLease(id);
    expect((await send(mcp, id, era)).status).toBe(401);
  });

  it("with keys has those that operators made, and their document", async () => {
    const { mcp, add } = setup();
    const tenant = add({ mode: "key", scopes: { looker: { tools: ["see"] } } });
    expect((await send(mcp, tenant.id, era)).status).toBe(401);
    const { id, token, hash } = await createKey();
    const policy = createRpcClient(tenant.stub, policyStore);
    await policy.addKey({ id, hash, name: "k", scopes: ["looker"], profile: null, expires: null }, ANN);
    const message = { jsonrpc: "2.0", id: 1, method: "tools/list" };
    const headers = { authorization: `Bearer ${token}` };
    expect(await (await sendTo(mcp, tenant.id, { message, headers })).json()).toMatchObject({
      result: { tools: [{ name: "see" }] },
    });
    const own = { mode: "open", tools: { write: { enabled: false } } } as const;
    const write = { own, effective: own, deprecatedNames: [], ifRevision: null, actor: ANN, action: "apply" };
    await policy.write(write);
    endLease(tenant.id);
    expect(await listed(mcp, tenant.id, era)).toEqual(["see", "write_all"]);
  });
});

describe("a function that fails", () => {
  it.each([
    ["throws", new Error("no database"), "Error: no database"],
    ["says what is no definition", undefined, 'TypeError: tenant "'],
  ])(
    "because it %s makes its tenant unavailable, neither unknown nor remembered as that",
    async (_what, broken, text) => {
      const { mcp, add, state, faults, rows, asks } = setup();
      const { id } = add();
      const whole = rows.get(id) ?? {};
      const [era] = ERAS;
      state.broken = broken;
      if (!broken) rows.set(id, { mode: "Open" } as never);
      const away = await send(mcp, id, era);
      expect([away.status, away.headers.get("retry-after")]).toEqual([503, expect.stringMatching(/^\d+$/)]);
      expect(String(faults[0])).toContain(text);
      expect(JSON.stringify(away.body)).not.toMatch(/database|mode/);
      state.broken = undefined;
      rows.set(id, whole);
      expect((await send(mcp, id, era)).status).toBe(200);
      // The same when a lease has ended.
      state.broken = broken;
      if (!broken) rows.set(id, { mode: "Open" } as never);
      endLease(id);
      const before = asks.length;
      expect((await send(mcp, id, era)).status).toBe(503);
      expect((await send(mcp, id, era)).status).toBe(503);
      expect(asks.length - before).toBe(2);
      state.broken = undefined;
      rows.set(id, whole);
      expect((await send(mcp, id, era)).status).toBe(200);
    },
  );

  it("is an error outside of a call, too", async () => {
    const { mcp, add, state } = setup();
    const { id } = add();
    state.broken = new Error("no database");
    const failed: unknown = await mcp
      .tenant(env, id)
      .announce({ tools: true })
      .catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(TenantError);
    expect(failed).toMatchObject({ code: "unavailable", retryAfter: expect.any(Number) as number });
  });
});

describe("an undeclared name", () => {
  it("is looked up at most once in some seconds, and answered like a closed tenant", async () => {
    const { mcp, add, asks } = setup();
    const closed = add({ mode: "key" });
    const [era] = ERAS;
    const unknown = freshTenant().id;
    const both = [await send(mcp, closed.id, era), await send(mcp, unknown, era)];
    expect(both.map(({ status, body }) => [status, JSON.stringify(body)])[1]).toEqual([
      401,
      JSON.stringify(both[0]?.body),
    ]);
    for (let at = 0; at < 4; at += 1) await send(mcp, unknown, era);
    expect(asks.filter((id) => id === unknown)).toEqual([unknown]);
    // What cannot be a name is not asked for at all.
    await send(mcp, "NO_name", era);
    expect(asks).not.toContain("NO_name");
  });

  it("is not looked up for an address that asked for too many", async () => {
    const { mcp, asks } = setup();
    const statuses = new Set<number>();
    const address = freshAddress();
    for (let at = 0; at < 130; at += 1) {
      const message = { jsonrpc: "2.0", id: 1, method: "ping" };
      const headers = { "cf-connecting-ip": address };
      const { status, body } = await sendTo(mcp, freshTenant().id, { message, headers });
      await body?.cancel();
      statuses.add(status);
    }
    expect([...statuses]).toEqual([401, 429]);
    // What flows back meanwhile counts, too.
    expect(asks.length).toBeLessThan(130);
  });

  it("may be a tenant of the admin API, for which the function does not run", async () => {
    const { mcp, asks, rows } = setup();
    const made = await servedTenant({ mode: "open" });
    rows.set(made.id, { tools: ["see"] });
    const [era] = ERAS;
    expect((await listed(mcp, made.id, era))?.length).toBe(3);
    evictPolicy(made.id);
    expect((await listed(mcp, made.id, era))?.length).toBe(3);
    expect(asks).toEqual([]);
  });

  it("is entered nowhere", async () => {
    const { mcp } = setup();
    const { id } = freshTenant();
    await send(mcp, id, ERAS[0]);
    expect((await directoryOf(env, id).lookup(id)).entry).toBe(null);
    expect(await createRpcClient(anyTenant(id), policyStore).read(false)).toBe(undefined);
  });
});

describe("a tenant that is no longer declared", () => {
  it("is withdrawn when `changed` resolves: for requests, calls of code, and streams", async () => {
    const { mcp, add, rows } = setup();
    const { id } = add({ maxStalenessMs: 1000 });
    const session = await sessionAt(mcp, id);
    const reader = readerOf(await sendTo(mcp, id, { method: "GET", headers: session }));
    expect((await send(mcp, id, ERAS[0])).status).toBe(200);
    rows.delete(id);
    // The lease still holds.
    expect((await send(mcp, id, ERAS[0])).status).toBe(200);
    await mcp.tenant(env, id).invalidate();
    expect((await send(mcp, id, ERAS[0])).status).toBe(401);
    const called: unknown = await mcp
      .tenant(env, id)
      .callTool("see", {}, { as: { id: "cron" } })
      .catch((error: unknown) => error);
    expect(called).toMatchObject({ code: "unknownTenant", message: `there is no tenant "${id}"` });
    await reader.until("never said");
    // And back, at once where its author says so.
    rows.set(id, {});
    await mcp.tenant(env, id).invalidate();
    expect((await send(mcp, id, ERAS[0])).status).toBe(200);
  });

  it("notifies streams of other changes", async () => {
    vi.useRealTimers();
    const { mcp, add, rows } = setup();
    const { id } = add({ tools: ["see"], maxStalenessMs: 50 });
    const session = await sessionAt(mcp, id);
    const reader = readerOf(await sendTo(mcp, id, { method: "GET", headers: session }));
    rows.set(id, { tools: ["write"], maxStalenessMs: 50 });
    await mcp.tenant(env, id).invalidate();
    expect(await reader.until("tools/list_changed")).toContain("notifications/tools/list_changed");
    await reader.cancel();
  });

  it("waits for nothing without a lease, and creates no tenant for an unknown name", async () => {
    const { mcp, add } = setup();
    const { id } = add({ maxStalenessMs: 60_000 });
    await mcp.tenant(env, id).invalidate();
    await mcp.tenant(env, "No name").invalidate();
    expect((await send(mcp, id, ERAS[0])).status).toBe(200);
  });

  it("does not come back while its authority is away", async () => {
    const { mcp, add, rows } = setup();
    const tenant = add({ maxStalenessMs: 50 });
    await send(mcp, tenant.id, ERAS[0]);
    rows.delete(tenant.id);
    endLease(tenant.id);
    const { back } = await authorityAway(tenant);
    expect((await send(mcp, tenant.id, ERAS[0])).status).toBe(503);
    back();
    expect((await send(mcp, tenant.id, ERAS[0])).status).toBe(401);
  });
});

it("two Workers of one script ask each their own function", async () => {
  const one = setup();
  const other = setup();
  const { id } = one.add({ tools: ["see"] });
  other.rows.set(id, { maxStalenessMs: LEASE_MS, tools: ["write"] });
  const [era] = ERAS;
  expect(await listed(one.mcp, id, era)).toEqual(["see"]);
  expect(await listed(other.mcp, id, era)).toEqual(["write"]);
  expect(await listed(one.mcp, id, era)).toEqual(["see"]);
});

// Calls of era 2025 that are stored and run again: `usage()` counts each once, `callAudit()` records it once, `telemetry()` tells
// of it once, by the run that ends it, in whichever isolate that is.

import { createExecutionContext, runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { callAudit, createWorker, defineTool, telemetry, usage, type RequestEvent } from "../../src/tenantry.ts";
import { callAuditStore } from "../../src/records/call-audit-store.ts";
import { FLUSH_AFTER_MS } from "../../src/records/usage.ts";
import { usageStore } from "../../src/records/usage-store.ts";
import { policyStore } from "../../src/tenants/object/policy-store.ts";
import { createRpcClient } from "../../src/tenants/object/store.ts";
import { readerOf, servedTenant } from "../support/workerd/served-tenant.ts";
import type { SessionObject } from "../../src/sessions/session-object.ts";
import { freshSession, later, newCall, recordOf, rowsIn, within } from "../support/workerd/session.ts";
import type { TenantDocument } from "../../src/tenants/document/tenant-document.ts";
import type { FreshTenant } from "../support/workerd/tenant.ts";

const MOUNT = "/noted";
const CONFIRM = {
  message: "Go on?",
  schema: { type: "object", properties: { yes: { type: "boolean" } }, required: ["yes"] },
} as const;

/** Counts are handed over soon, not after ten seconds. */
beforeEach(() => {
  const wait = scheduler.wait.bind(scheduler);
  vi.spyOn(scheduler, "wait").mockImplementation((ms, options) => wait(ms === FLUSH_AFTER_MS ? 200 : ms, options));
  onTestFinished(() => void vi.restoreAllMocks());
});

const ran = new Map<string, number>();
/** The keys of calls whose first run may go on: each invocation looks for itself. */
const released = new Set<string>();
const tools = [
  defineTool({
    name: "slow",
    description: "Its first run waits.",
    input: { type: "object", properties: { key: { type: "string" } } },
    handler: async ({ key }) => {
      const name = String(key);
      ran.set(name, (ran.get(name) ?? 0) + 1);
      if (ran.get(name) === 1) while (!released.has(name)) await scheduler.wait(20);
      return "done";
    },
  }),
  defineTool({
    name: "asks",
    description: "Asks twice.",
    input: { type: "object", properties: { key: { type: "string" } } },
    handler: async ({ key }, ctx) => {
      ran.set(String(key), (ran.get(String(key)) ?? 0) + 1);
      const first = await ctx.elicit("first", CONFIRM);
      const second = await ctx.elicit("second", CONFIRM);
      return `${first.action} ${second.action}`;
    },
  }),
  defineTool({ name: "long", description: "Is stored before it runs.", resumable: true, handler: () => "done" }),
];
const events: RequestEvent[] = [];
const worker = createWorker({
  path: MOUNT,
  tenants: {},
  tools,
  features: [usage(), callAudit(), telemetry({ to: (event) => void events.push(event) })],
  hooks: { onError: () => {} },
});

const everything = { by: "hour", from: 0, to: 2 ** 40, open: true, after: null } as const;
const notedTenant = (more: TenantDocument = {}) =>
  servedTenant({ mode: "open", audit: { calls: "digest", wait: true }, tools: { "*": { enabled: true } }, ...more });

async function entriesOf({ stub }: FreshTenant) {
  const { calls } = await createRpcClient(stub, callAuditStore).page(0);
  return calls.map(({ text }) => {
    const { name, outcome, error } = JSON.parse(text) as Record<string, unknown>;
    return { name, outcome, error };
  });
}

async function countsOf({ stub }: FreshTenant) {
  const { lines } = await createRpcClient(stub, usageStore).lines(everything);
  return lines
    .filter(({ kind }) => kind === "tool")
    .map(({ name, calls, errors, refused }) => ({ name, calls, errors, refused }));
}

/** Once everything was handed over that an isolate has of it: what came too often would be there, too. */
async function expectOnce(tenant: FreshTenant, expected: { name: string; outcome: string; error: string | null }) {
  const { name, outcome } = expected;
  await expect.poll(() => entriesOf(tenant), { timeout: 10_000 }).toEqual([expected]);
  const counted = { name, calls: 1, errors: outcome === "error" ? 1 : 0, refused: outcome === "refused" ? 1 : 0 };
  await expect.poll(() => countsOf(tenant), { timeout: 20_000 }).toEqual([counted]);
  expect(await entriesOf(tenant)).toEqual([expected]);
  // A request that was answered with the stream of a stored call is told of as that.
  const told = events.filter((event) => event.tenant === tenant.id && event.method === "tools/call");
  const ends = told.filter((event) => event.outcome !== "stream");
  expect(ends.map((event) => [event.name, event.outcome])).toEqual([[name, expected.error ?? "complete"]]);
}

async function send(tenant: FreshTenant, message: object, headers: Record<string, string>) {
  const request = new Request(`https://mcp.example.com${MOUNT}/mcp/${tenant.id}`, {
    method: "POST",
    headers: {
      accept: "application/json, text/event-stream",
      "content-type": "application/json",
      "mcp-protocol-version": "2025-11-25",
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: "2.0", ...message }),
  });
  return worker.fetch(request, env, createExecutionContext());
}

async function sessionOf(tenant: FreshTenant) {
  const clientInfo = { name: "test", version: "1" };
  const params = { protocolVersion: "2025-11-25", capabilities: { elicitation: {} }, clientInfo };
  const begun = await send(tenant, { id: 0, method: "initialize", params }, {});
  await begun.body?.cancel();
  return { "mcp-session-id": begun.headers.get("mcp-session-id") ?? "" };
}

const callOf = (name: string, key = "") => ({
  id: 1,
  method: "tools/call",
  params: { name, arguments: name === "long" ? {} : { key } },
});
const idIn = (text: string, at: number): string => [...text.matchAll(/"id":"(q-[^"]+)"/g)].at(at)?.[1] ?? "";
const YES = { action: "accept", content: { yes: true } };

describe("a call that is stored before it runs", () => {
  it("is noted once", async () => {
    const tenant = await notedTenant();
    const session = await sessionOf(tenant);
    const reader = readerOf(await send(tenant, callOf("long"), session));
    expect(await reader.until('"result"')).toContain("done");
    await expectOnce(tenant, { name: "long", outcome: "complete", error: null });
  }, 120_000);

  /** Stored and begun, as a session's object has it. */
  const begun = async (tenant: Awaited<ReturnType<typeof servedTenant>>, name: string) => {
    const session = freshSession();
    const about = { tenant: tenant.id, created: tenant.created, call: callOf(name, tenant.id) };
    const record = JSON.stringify({ ...(JSON.parse(recordOf(about)) as object), mount: MOUNT });
    await session.start(newCall("aaaaaaaaaaaaaaaa", { record }), later());
    const text = async () => {
      await runDurableObjectAlarm(session);
      return (await rowsIn(session, "SELECT part FROM events WHERE seq > 0")).map(({ part }) => String(part)).join("");
    };
    return { session, text };
  };

  it("is noted once when a run of it was taken for lost, and ended beside another", async () => {
    const tenant = await notedTenant();
    const { session, text } = await begun(tenant, "slow");
    await expect.poll(() => ran.get(tenant.id), { timeout: 10_000 }).toBe(1);
    await rowsIn(session, "UPDATE calls SET attempt = attempt + 1");
    released.add(tenant.id);
    await expect.poll(text, { timeout: 20_000 }).toContain('"result"');
    expect(ran.get(tenant.id)).toBe(2);
    await expectOnce(tenant, { name: "slow", outcome: "complete", error: null });
  }, 120_000);

  it("is run and noted once where its session's object has too much to do as it ends", async () => {
    const tenant = await notedTenant();
    const { session, text } = await begun(tenant, "slow");
    await expect.poll(() => ran.get(tenant.id), { timeout: 10_000 }).toBe(1);
    let refused = 0;
    await within(session, async (instance) => {
      const take = vi.spyOn(Object.getPrototypeOf(instance) as SessionObject, "take");
      onTestFinished(() => take.mockRestore());
      take.mockImplementationOnce(() => {
        refused += 1;
        return Promise.reject(Object.assign(new Error("Durable Object is overloaded."), { overloaded: true }));
      });
    });
    released.add(tenant.id);
    await expect.poll(text, { timeout: 20_000 }).toContain('"result"');
    expect([refused, ran.get(tenant.id)]).toEqual([1, 1]);
    await expectOnce(tenant, { name: "slow", outcome: "complete", error: null });
  }, 120_000);

  it.each([
    ["the caller", { kind: "principal", name: "anonymous", note: "Unpaid" }],
    ["the tenant", { kind: "tenant", name: "", note: "Unpaid" }],
  ] as const)(
    "is noted once, as refused, where %s is suspended by then",
    async (_who, suspension) => {
      const tenant = await notedTenant();
      await createRpcClient(tenant.stub, policyStore).suspend(suspension, { name: "ann", isTenantAdmin: false });
      const { text } = await begun(tenant, "long");
      await expect.poll(text, { timeout: 20_000 }).toContain("Unpaid");
      await expectOnce(tenant, { name: "long", outcome: "refused", error: "suspended" });
    },
    60_000,
  );

  it("is noted once, as refused, where the key was revoked", async () => {
    const tenant = await notedTenant({ mode: "key" });
    const { text } = await begun(tenant, "long");
    await expect.poll(text, { timeout: 20_000 }).toContain('"error"');
    await expectOnce(tenant, { name: "long", outcome: "refused", error: "unauthorized" });
  }, 120_000);
});

describe("a call that is stored with its first question", () => {
  it("is noted once when its client stays", async () => {
    const tenant = await notedTenant();
    const session = await sessionOf(tenant);
    const reader = readerOf(await send(tenant, callOf("asks", tenant.id), session));
    for (let at = 0; at < 2; at += 1) {
      const id = idIn(await reader.times('"method":"elicitation/create"', at + 1), at);
      await send(tenant, { id, result: YES }, session);
    }
    expect(await reader.until('"result"')).toContain("accept accept");
    await expectOnce(tenant, { name: "asks", outcome: "complete", error: null });
  }, 120_000);

  it("is noted once when its client leaves at each question, and another run goes on with each answer", async () => {
    const tenant = await notedTenant();
    const session = await sessionOf(tenant);
    let reader = readerOf(await send(tenant, callOf("asks", tenant.id), session));
    let text = await reader.until('"method":"elicitation/create"');
    const [, lastId = ""] = [...text.matchAll(/id: ([\w-]+)/g)].at(-1) ?? [];
    await reader.cancel();
    await send(tenant, { id: idIn(text, 0), result: YES }, session);
    const get = new Request(`https://mcp.example.com${MOUNT}/mcp/${tenant.id}`, {
      headers: { accept: "text/event-stream", ...session, "last-event-id": lastId },
    });
    reader = readerOf(await worker.fetch(get, env, createExecutionContext()));
    text = await reader.until('"method":"elicitation/create"');
    // Longer than a run without a client waits before it parks.
    await scheduler.wait(1_500);
    await send(tenant, { id: idIn(text, 0), result: YES }, session);
    expect(await reader.until('"result"')).toContain("accept accept");
    expect(ran.get(tenant.id)).toBeGreaterThan(1);
    await expectOnce(tenant, { name: "asks", outcome: "complete", error: null });
  }, 120_000);

  it("is noted once when it is cancelled while it waits", async () => {
    const tenant = await notedTenant();
    const session = await sessionOf(tenant);
    const reader = readerOf(await send(tenant, callOf("asks", tenant.id), session));
    await reader.until('"method":"elicitation/create"');
    await send(tenant, { method: "notifications/cancelled", params: { requestId: 1 } }, session);
    await expectOnce(tenant, { name: "asks", outcome: "error", error: "cancelled" });
  }, 120_000);
});

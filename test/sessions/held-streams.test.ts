// The sockets behind notification streams: one for each stream that somebody reads, and none for those whose reader left, does
// not read, or may listen no more. Counted at the hub, in requests made inside the isolate.

import { createExecutionContext, runInDurableObject } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { createWorker, type Env } from "../../src/tenantry.ts";
import { hubName } from "../../src/tenants/object/changes.ts";
import { directoryOf } from "../../src/tenants/directory/directory-stub.ts";
import { policyStore } from "../../src/tenants/object/policy-store.ts";
import { createRpcClient } from "../../src/tenants/object/store.ts";
import { changeEvent } from "../support/workerd/hubs.ts";
import { freshTenant, NO_UID } from "../support/workerd/tenant.ts";

const REVISION = "2025-11-25";
const LATER = "2026-07-28";
/** It may leave twice as many unread. */
const SOME_BYTES = 1024 * 1024;
const worker = createWorker({ tenants: {}, hooks: { onError: () => {} } });

async function made(): Promise<string> {
  const tenant = freshTenant();
  await directoryOf(env, tenant.id).add(tenant.id, { jurisdiction: null, region: null });
  const document = { mode: "open" } as const;
  const created = {
    created: NO_UID,
    own: document,
    effective: document,
    actor: { name: "ann" },
    action: "create",
  };
  await createRpcClient(tenant.stub, policyStore).create(created);
  return tenant.id;
}

const hubOf = (tenant: string, shard = 0) => exports.HubObject.getByName(hubName(tenant, shard));
const socketsOf = (tenant: string, shard = 0) =>
  runInDurableObject(hubOf(tenant, shard), (_hub, state) => state.getWebSockets().length);
const untilSockets = (tenant: string, count: number) => expect.poll(() => socketsOf(tenant)).toBe(count);

function send(
  tenant: string,
  init: RequestInit,
  headers: Readonly<Record<string, string>>,
  bindings: Env = env,
): Promise<Response> {
  const request = new Request(`https://mcp.example.com/mcp/${tenant}`, {
    ...init,
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream", ...headers },
  });
  return Promise.resolve(worker.fetch(request, bindings, createExecutionContext()));
}

const post = (
  tenant: string,
  method: string,
  params: object,
  headers: Readonly<Record<string, string>> = {},
  bindings?: Env,
) =>
  send(tenant, { method: "POST", body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }) }, headers, bindings);

async function begin(tenant: string): Promise<string> {
  const about = { protocolVersion: REVISION, capabilities: {}, clientInfo: { name: "t", version: "1" } };
  const response = await post(tenant, "initialize", about);
  await response.arrayBuffer();
  return response.headers.get("mcp-session-id") ?? "none";
}

const standalone = (tenant: string, session: string, bindings?: Env) =>
  send(tenant, { method: "GET" }, { "mcp-session-id": session }, bindings);

function listen(tenant: string, uris: readonly string[] = [], bindings?: Env): Promise<Response> {
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": LATER,
    "io.modelcontextprotocol/clientInfo": { name: "t", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const headers = { "mcp-protocol-version": LATER, "mcp-method": "subscriptions/listen" };
  return post(
    tenant,
    "subscriptions/listen",
    { notifications: { resourceSubscriptions: uris }, _meta },
    headers,
    bindings,
  );
}

const WAYS: readonly (readonly [string, (tenant: string) => Promise<Response>])[] = [
  ["a session's GET", async (tenant) => standalone(tenant, await begin(tenant))],
  ["subscriptions/listen", (tenant) => listen(tenant)],
];

describe.each(WAYS)("the socket of %s", (_what, open) => {
  it("is one for each stream, and goes with its reader", async () => {
    const tenant = await made();
    const responses = await Promise.all([open(tenant), open(tenant), open(tenant)]);
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200]);
    await untilSockets(tenant, 3);
    await responses[0]?.body?.cancel();
    await untilSockets(tenant, 2);
    for (const { body } of responses.slice(1)) await body?.cancel();
    await untilSockets(tenant, 0);
  });
});

it("a session has one socket, however often it opens its stream, and none after its end", async () => {
  const tenant = await made();
  const session = await begin(tenant);
  const streams: Response[] = [];
  for (let times = 0; times < 5; times += 1) streams.push(await standalone(tenant, session));
  await untilSockets(tenant, 1);
  expect((await send(tenant, { method: "DELETE" }, { "mcp-session-id": session })).status).toBe(204);
  await untilSockets(tenant, 0);
  for (const stream of streams) expect(await stream.text()).toContain(": open");
});

it("where several hubs share a tenant's streams, each has some, and a session's is always at the same", async () => {
  const SHARDS = 3;
  const bindings: Env = { ...env, HUB_SHARDS: String(SHARDS) };
  const tenant = await made();
  const counted = () => Promise.all(Array.from({ length: SHARDS }, (_none, shard) => socketsOf(tenant, shard)));
  const sessions = await Promise.all(Array.from({ length: 30 }, () => begin(tenant)));
  for (const session of sessions) await standalone(tenant, session, bindings);
  const first = await counted();
  expect(first.reduce((sum, count) => sum + count, 0)).toBe(sessions.length);
  expect(Math.min(...first)).toBeGreaterThan(0);
  for (const session of sessions) await standalone(tenant, session, bindings);
  await expect.poll(counted).toEqual(first);
  for (const session of sessions) await send(tenant, { method: "DELETE" }, { "mcp-session-id": session }, bindings);
  await expect.poll(counted).toEqual([0, 0, 0]);
});

it("where several hubs share a tenant's streams, one without a session comes back to the hub that lost it", async () => {
  const tenant = await made();
  const random = vi.spyOn(Math, "random").mockReturnValue(0);
  onTestFinished(() => {
    random.mockRestore();
  });
  const { body } = await listen(tenant, [], { ...env, HUB_SHARDS: "4" });
  random.mockReturnValue(0.3);
  await runInDurableObject(hubOf(tenant), (_hub, state) => {
    for (const socket of state.getWebSockets()) socket.close(1011);
  });
  const cameBack = () =>
    runInDurableObject(hubOf(tenant), (_hub, state) =>
      state.getWebSockets().some((socket) => (socket.deserializeAttachment() as { again: boolean }).again),
    );
  await expect.poll(cameBack, { timeout: 10_000 }).toBe(true);
  await body?.cancel();
});

it("a reader that never reads is given up after a megabyte, and its socket with it", async () => {
  const tenant = await made();
  const uris = Array.from({ length: 80 }, (_none, at) => `docs://${at}/${"x".repeat(1500)}`);
  const bytes = JSON.stringify(uris).length;
  const { body } = await listen(tenant, uris);
  const changes = changeEvent({});
  let published = 0;
  const publishOne = async () => {
    published += 1;
    await hubOf(tenant).publish({ ...changes, version: published, after: published - 1, updated: uris });
    return socketsOf(tenant);
  };
  await expect.poll(publishOne, { timeout: 20_000, interval: 20 }).toBe(0);
  expect(published * bytes).toBeGreaterThan(SOME_BYTES);
  await expect(new Response(body).text()).rejects.toThrow("does not read");
});

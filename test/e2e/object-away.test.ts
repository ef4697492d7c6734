// One tenant's object is away for many times as long as its lease, as when its place fails: it cannot start, or answers nothing.
// Clocks are scaled: a lease of 200 ms stands for one of 5 s.

import { setTimeout as pause } from "node:timers/promises";
import { Client as ClientV2, StreamableHTTPClientTransport as TransportV2 } from "@modelcontextprotocol/client";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as TransportV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { startWorkerPair, type WorkerPair, type WatchedWorker } from "../support/worker-pair.ts";

const LEASE_MS = 200;
/** Six leases, as 30 s are of five seconds each. */
const AWAY_MS = 6 * LEASE_MS;
const ABOUT = { name: "object-away-test", version: "1" };

let workers: WorkerPair;
beforeAll(async () => {
  workers = await startWorkerPair({}, undefined, false, { entry: "away-worker" });
}, 600_000);
afterAll(() => workers.stop());

async function setAway(tenant: string, how: "throws" | "hangs" | null): Promise<void> {
  const body = JSON.stringify({ tenant, how });
  await fetch(`${workers.one.origin}/__away`, { method: "POST", body });
}

interface Tenant {
  readonly id: string;
  readonly token: string;
}

async function newTenant(name: string): Promise<Tenant> {
  const id = `${name}-${crypto.randomUUID().slice(0, 8)}`;
  const document = { mode: "key", maxStalenessMs: LEASE_MS };
  await workers.one.admin("POST", "/tenants", { id, document });
  const { token } = await workers.one.admin("POST", `/tenants/${id}/keys`, { name: "k" });
  return { id, token: String(token) };
}

/** An official client with a key, and what it saw and did. */
interface Watched {
  call(): Promise<unknown>;
  session(): string | undefined;
  readonly statuses: number[];
  readonly initialized: () => number;
  readonly logins: () => number;
}

type Connect = (worker: WatchedWorker, tenant: Tenant) => Promise<Watched>;

/** `fetch`, written down. */
function watching() {
  const statuses: number[] = [];
  let initialized = 0;
  const watched = async (url: string | URL, init?: RequestInit) => {
    if (typeof init?.body === "string" && init.body.includes('"initialize"')) initialized += 1;
    const response = await fetch(url, init);
    if (init?.method === "POST") statuses.push(response.status);
    return response;
  };
  return { statuses, initialized: () => initialized, fetch: watched };
}

const urlOf = ({ origin }: WatchedWorker, { id }: Tenant) => new URL(`${origin}/mcp/${id}`);
const CALL = { name: "calculator", arguments: { operation: "add", a: 1, b: 2 } };

/** Of era 2025. */
const v1: Connect = async (worker, tenant) => {
  const { statuses, initialized, fetch: watched } = watching();
  let logins = 0;
  const login = () => {
    logins += 1;
    throw new Error("the client logs in again");
  };
  const transport = new TransportV1(urlOf(worker, tenant), {
    fetch: watched,
    authProvider: {
      redirectUrl: "http://localhost/callback",
      clientMetadata: { redirect_uris: [] },
      tokens: () => ({ access_token: tenant.token, token_type: "Bearer" }),
      clientInformation: login,
      saveTokens: login,
      redirectToAuthorization: login,
      saveCodeVerifier: login,
      codeVerifier: login,
    },
  });
  const client = new ClientV1(ABOUT);
  await client.connect(transport);
  onTestFinished(() => client.close());
  const { sessionId } = transport;
  expect(sessionId).toBeDefined();
  return {
    call: () => client.callTool(CALL),
    session: () => transport.sessionId,
    statuses,
    initialized,
    logins: () => logins,
  };
};

/** Of era 2026. */
const v2: Connect = async (worker, tenant) => {
  const { statuses, initialized, fetch: watched } = watching();
  let logins = 0;
  const transport = new TransportV2(urlOf(worker, tenant), {
    fetch: watched,
    authProvider: {
      token: async () => tenant.token,
      onUnauthorized: async () => {
        logins += 1;
      },
    },
  });
  const client = new ClientV2(ABOUT);
  await client.connect(transport);
  onTestFinished(() => client.close());
  return { call: () => client.callTool(CALL), session: () => undefined, statuses, initialized, logins: () => logins };
};

async function ask(worker: WatchedWorker, tenant: Tenant, signal?: AbortSignal): Promise<Response> {
  const response = await fetch(urlOf(worker, tenant), {
    method: "POST",
    headers: { authorization: `Bearer ${tenant.token}`, "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
    ...(signal && { signal }),
  });
  await response.body?.cancel();
  return response;
}

test("where the first of many who ask for one lease is cut off in the middle, all others are answered", async () => {
  const tenant = await newTenant("cut");
  const { two } = workers;
  await setAway(tenant.id, "hangs");
  const cut = new AbortController();
  const first = ask(two, tenant, cut.signal).then(
    () => "answered",
    () => "cut off",
  );
  // It has asked by then, and the others find it asking.
  await pause(300);
  const others = Array.from({ length: 50 }, async () => (await ask(two, tenant)).status);
  await pause(300);
  cut.abort();
  expect(await first).toBe("cut off");
  await setAway(tenant.id, null);
  expect(new Set(await Promise.all(others))).toEqual(new Set([200]));
});

describe.each(["throws", "hangs"] as const)("while one tenant's object %s for longer than its lease", (how) => {
  test("the official clients of both eras are told to come again, keep session and login, and go on", async () => {
    await Promise.all(
      [v1, v2].map(async (connect) => {
        const tenant = await newTenant("away");
        const client = await connect(workers.one, tenant);
        await client.call();
        const before = { session: client.session(), initialized: client.initialized() };
        const since = client.statuses.length;

        await setAway(tenant.id, how);
        await pause(AWAY_MS);
        await expect(client.call()).rejects.toThrow();
        const during = client.statuses.slice(since);
        await setAway(tenant.id, null);
        expect([...new Set(during)]).toEqual([503]);
        await expect.poll(() => client.call().catch(() => undefined)).toBeDefined();
        expect({ session: client.session(), initialized: client.initialized() }).toEqual(before);
        expect(client.logins()).toBe(0);
        expect(client.statuses).not.toContain(401);
        expect(client.statuses).not.toContain(404);
      }),
    );
  });

  test("that tenant alone gets 503 with a jittered Retry-After, in an isolate that never served it, too", async () => {
    const [tenant, other] = [await newTenant("away"), await newTenant("other")];
    expect((await ask(workers.one, tenant)).status).toBe(200);
    await setAway(tenant.id, how);
    await pause(AWAY_MS);
    const question = workers.both.map(async (worker) =>
      Promise.all(Array.from({ length: 20 }, () => ask(worker, tenant))),
    );
    for (const worker of workers.both) {
      for (let at = 0; at < 5; at += 1) expect((await ask(worker, other)).status).toBe(200);
    }
    const answers = (await Promise.all(question)).flat();
    await setAway(tenant.id, null);
    expect([...new Set(answers.map(({ status }) => status))]).toEqual([503]);
    const seconds = answers.map(({ headers }) => Number(headers.get("retry-after")));
    expect(new Set(seconds).size).toBeGreaterThan(3);
    expect([Math.min(...seconds) >= 5, Math.max(...seconds) <= 15]).toEqual([true, true]);
    await expect.poll(async () => (await ask(workers.two, tenant)).status).toBe(200);
  });
});

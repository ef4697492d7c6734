// Which calls to other objects a request waits for, counted where the Worker makes them: none under a lease, one when it has
// ended, two in a fresh isolate. The cost of stored resources is in billed-operations.test.ts.

import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { ERAS, type Json } from "../support/mcp-client.ts";
import { beginning, redeem, refresh, signIn } from "../support/oauth-client.ts";
import { write } from "../support/raw-http.ts";
import { startUpstream } from "../support/upstream.ts";
import { startWorkerPair, type WorkerPair, type WatchedWorker } from "../support/worker-pair.ts";

/** Longer than any test here, so that a lease ends in none that does not wait for it. */
const LONG_MS = 300_000;
const SHORT_MS = 500;
const LEASE = "TenantObject policy.lease";
const SESSION_REVISION = "2025-11-25";

/** Of this file alone: what others have blocked or left behind would be asked for, too. */
let workers: WorkerPair;
let one: WatchedWorker;
beforeAll(async () => {
  workers = await startWorkerPair({ OUTBOUND_LOCAL: "http://127.0.0.1" });
  one = workers.one;
});
afterAll(() => workers.stop());

interface Caller {
  readonly tenant: string;
  readonly token?: string;
  readonly session?: string;
}

function written(revision: string, method: string, params: Json, more: Record<string, string> = {}): RequestInit {
  const { headers, body } = write(revision, method, params);
  return { method: "POST", headers: { ...headers, ...more }, body: JSON.stringify(body) };
}

async function send(to: WatchedWorker, { tenant, token, session }: Caller, method: string, params: Json = {}) {
  const more = {
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    ...(session === undefined ? {} : { "mcp-session-id": session }),
  };
  const revision = session === undefined ? "2026-07-28" : SESSION_REVISION;
  const response = await fetch(`${to.origin}/mcp/${tenant}`, written(revision, method, params, more));
  return { status: response.status, text: await response.text() };
}

/** Which calls this one request makes; it must end as it is said to. */
async function callsOf(
  caller: Caller,
  [method, params]: readonly [method: string, params?: Json],
  { to = one, status = 200 }: { readonly to?: WatchedWorker; readonly status?: number } = {},
): Promise<readonly string[]> {
  await to.reset();
  const answered = await send(to, caller, method, params);
  expect(answered).toMatchObject({ status, text: expect.stringContaining(status === 200 ? '"result"' : '"error"') });
  return to.calls();
}

let made = 0;
async function newTenant(document: Json = {}): Promise<string> {
  made += 1;
  const id = `counted-${made}`;
  await one.admin("POST", "/tenants", { id, document: { mode: "open", maxStalenessMs: LONG_MS, ...document } });
  return id;
}

/** The same, once KV has where it is: the directory writes that a moment after it was made. */
async function newPlaced(document: Json = {}): Promise<string> {
  const id = await newTenant(document);
  await expect.poll(() => one.value(`placement/${id}`)).toContain("created");
  return id;
}

async function scopedCaller(maxStalenessMs: number): Promise<Caller> {
  const tenant = await newTenant({
    mode: "key",
    maxStalenessMs,
    scopes: { echo: { tools: ["lab_echo"] } },
    limits: { bodyBytes: 100_000, resources: 10, resourceBytes: 1000, keys: 5 },
  });
  const { token } = await one.admin("POST", `/tenants/${tenant}/keys`, { name: "scoped", scopes: ["echo"] });
  return { tenant, token: String(token) };
}

async function sessionCaller(maxStalenessMs: number): Promise<Caller> {
  const tenant = await newTenant({ maxStalenessMs });
  const params = { protocolVersion: SESSION_REVISION, capabilities: {}, clientInfo: { name: "test", version: "1" } };
  const begun = await fetch(`${one.origin}/mcp/${tenant}`, written(SESSION_REVISION, "initialize", params));
  return { tenant, session: String(begun.headers.get("mcp-session-id")) };
}

const ECHO = ["tools/call", { name: "lab_echo", arguments: { a: 1 } }] as const;
const LIST = ["tools/list"] as const;

const callers: readonly (readonly [string, (maxStalenessMs: number) => Promise<Caller>])[] = [
  ["of 2026-07-28 in an open tenant", async (maxStalenessMs) => ({ tenant: await newTenant({ maxStalenessMs }) })],
  ["with an API key, scopes and limits", scopedCaller],
  ["in a session of 2025-11-25", sessionCaller],
];

describe.each(callers)("a call %s", (_what, callerOf) => {
  test("asks nobody under a lease", async () => {
    const caller = await callerOf(LONG_MS);
    await send(one, caller, ...ECHO);
    for (const request of [ECHO, LIST, ECHO]) expect(await callsOf(caller, request)).toEqual([]);
  });

  test("asks the authority exactly once when the lease has ended", async () => {
    const caller = await callerOf(SHORT_MS);
    await send(one, caller, ...ECHO);
    // It counts from when it was asked for, which was before it was answered.
    await untilClock(Date.now() + SHORT_MS);
    expect(await callsOf(caller, ECHO)).toEqual([LEASE]);
  });
});

/** A lease ends by the clock, and nothing tells. */
async function untilClock(time: number): Promise<void> {
  while (Date.now() < time) await new Promise((resolve) => setTimeout(resolve, time - Date.now()));
}

describe.each(ERAS)("a call to an upstream of era $era", ({ era }) => {
  const go = ["tools/call", { name: "up__go", arguments: {} }] as const;

  async function federated(): Promise<Caller> {
    const upstream = await startUpstream({ go: () => ({ content: [] }) });
    onTestFinished(() => upstream.close());
    const tenant = await newPlaced({ maxStalenessMs: SHORT_MS, upstreams: { up: { url: upstream.url, era } } });
    await expect.poll(async () => (await send(one, { tenant }, ...go)).text).toContain('"result"');
    return { tenant };
  }

  test("asks nobody under a lease, and the authority once when it has ended", async () => {
    const caller = await federated();
    await send(one, caller, ...go);
    await untilClock(Date.now() + SHORT_MS);
    expect(await callsOf(caller, go)).toEqual([LEASE]);
    expect(await callsOf(caller, go)).toEqual([]);
  });

  test("reads the catalog from KV too in an isolate that knows nothing yet", async () => {
    const caller = await federated();
    const calls = await callsOf(caller, go, { to: workers.two });
    // Which catalogs are due is asked beside the request, which does not wait for it.
    const waited = calls.filter((call) => call !== "TenantObject gateway.claimDue");
    expect(waited).toEqual(["BODIES get", LEASE, "BODIES get"]);
  });
});

test("tokens are refreshed with two calls to the authority", async () => {
  const tenant = await newTenant({ mode: "key+oauth", auth: { login: { via: "key" } } });
  const { token } = await one.admin("POST", `/tenants/${tenant}/keys`, { name: "test" });
  const login = await beginning(`${one.origin}/mcp/${tenant}`);
  const tokens = await redeem(login, await signIn(login, String(token)));
  await one.reset();
  await refresh(login, tokens.refresh_token);
  expect(await one.calls()).toEqual(["TenantObject login.getClient", "TenantObject login.refresh"]);
});

describe("an isolate that knows nothing yet", () => {
  test("asks the authority of a tenant in code once", async () => {
    await send(one, { tenant: "founding" }, ...LIST);
    expect(await callsOf({ tenant: "founding" }, LIST, { to: workers.two })).toEqual([LEASE]);
  });

  test("reads from KV where a managed tenant is, and asks its authority once, and nobody else", async () => {
    const tenant = await newPlaced();
    expect(await callsOf({ tenant }, ECHO, { to: workers.two })).toEqual(["BODIES get", LEASE]);
    expect(await callsOf({ tenant }, ECHO, { to: workers.two })).toEqual([]);
  });

  test("does once for a name that is no tenant's what it does for one that takes keys", async () => {
    const tenant = await newPlaced({ mode: "key" });
    // Where there is a tenant to hide, none is told from a name that is nobody's: KV is read, and one object is asked.
    const about = { to: workers.two, status: 401 };
    expect(await callsOf({ tenant }, ECHO, about)).toEqual(["BODIES get", LEASE]);
    expect(await callsOf({ tenant: "nobody" }, ECHO, about)).toEqual(["BODIES get", "DirectoryObject lookup"]);
    expect(await callsOf({ tenant: "nobody" }, ECHO, about)).toEqual([]);
  });

  test("asks nobody about a name that no tenant can have", async () => {
    for (const tenant of ["-", "admin", "xn--a", "x".repeat(41), "%C3%A9"]) {
      expect(await callsOf({ tenant }, ECHO, { to: workers.two, status: 404 })).toEqual([]);
    }
  });
});

test("a tenant is refused by the isolate that cannot reach its authority, and served by the other", async () => {
  const tenant = await newPlaced();
  const other = await newTenant();
  await one.cutOff(tenant);
  onTestFinished(() => one.reconnect(tenant));
  expect(await callsOf({ tenant }, ECHO, { status: 503 })).toEqual(["BODIES get", LEASE, LEASE]);
  await callsOf({ tenant: other }, ECHO);
  await callsOf({ tenant }, ECHO, { to: workers.two });
  await one.reconnect(tenant);
  await callsOf({ tenant }, ECHO);
});

// Limits over two isolates of one storage: what is exact is never exceeded, and what each isolate counts by itself is
// exceeded by no more than the isolates there are. The figures are printed.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Json } from "../support/mcp-client.ts";
import { write } from "../support/raw-http.ts";
import {
  ADMIN_TOKEN,
  startWorkerPair,
  sharedWorkerPair,
  type SharedWorkerPair,
  type WorkerPair,
} from "../support/worker-pair.ts";

const CALLS = 400;
const MOST = 50;
const REVISION = "2026-07-28";
const CALL = { name: "flow_logs", arguments: { level: "info", logger: "test", data: "x" } };

let workers: SharedWorkerPair;
beforeAll(async () => {
  workers = await sharedWorkerPair();
});

let made = 0;
async function newTenant(limits: Json, document: Json = {}, to = workers): Promise<string> {
  made += 1;
  const id = `limited-${made}`;
  await to.one.admin("POST", "/tenants", { id, document: { mode: "open", limits, ...document } });
  return id;
}

interface Answered {
  readonly status: number;
  readonly headers: Headers;
  readonly json: { readonly error?: { readonly code: number; readonly message: string; readonly data?: Json } };
}

async function send(origin: string, tenant: string, method = "tools/call", params: Json = CALL): Promise<Answered> {
  const { headers, body } = write(REVISION, method, params);
  const url = `${origin}/mcp/${tenant}`;
  const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  return { status: response.status, headers: response.headers, json: (await response.json()) as Answered["json"] };
}

/** All at once, half of them to each Worker; gives how many were served, and what the others were told. */
async function flood(tenant: string, to = workers) {
  const answers = await Promise.all(
    Array.from({ length: CALLS }, (_none, at) => send((at % 2 === 0 ? to.one : to.two).origin, tenant)),
  );
  const refused = answers.filter(({ status }) => status === 429);
  const served = answers.filter(({ status }) => status === 200);
  expect(refused.length + served.length).toBe(CALLS);
  return { served: served.length, refused };
}

function print(what: string, served: number): void {
  process.stdout.write(`${CALLS} calls at once to 2 isolates, ${what}: ${served} served of ${MOST}\n`);
}

describe("many calls at once over a limit, to two isolates", () => {
  test("are never more than the limit where a daily limit is exact, and no fewer", async () => {
    const tenant = await newTenant({ dailyToolCalls: MOST, exact: true });
    const { served, refused } = await flood(tenant);
    print("an exact daily limit", served);
    expect(served).toBe(MOST);
    const [first] = refused;
    expect(first?.json.error).toMatchObject({ data: { limit: "dailyToolCalls", most: MOST } });
    expect(first?.json.error?.message).toMatch(/; try again tomorrow, from 00:00 UTC$/);
    expect(Number(first?.headers.get("retry-after"))).toBeLessThanOrEqual(86_400);
    expect(first?.headers.get("ratelimit-policy")).toBe(`"dailyToolCalls";q=${MOST};w=86400`);
    expect((await flood(tenant)).served).toBe(0);
  });

  test("exceed a daily limit that is not exact by no more than each isolate counts by itself, and then end", async () => {
    const tenant = await newTenant({ dailyToolCalls: MOST });
    const { served } = await flood(tenant);
    print("a daily limit", served);
    expect(served).toBeGreaterThanOrEqual(MOST);
    expect(served).toBeLessThanOrEqual(2 * MOST);
    expect((await flood(tenant)).served).toBe(0);
  });

  test("pass a limit of messages a minute once for each isolate at most", async () => {
    const tenant = await newTenant({ addressMessages: MOST });
    const { served, refused } = await flood(tenant);
    print("a limit a minute in each isolate", served);
    expect(served).toBeGreaterThanOrEqual(MOST);
    // A bucket fills up again while they are sent.
    expect(served).toBeLessThanOrEqual(2 * MOST + MOST / 2);
    expect(refused[0]?.json.error).toMatchObject({ data: { limit: "addressMessages", most: MOST } });
  });
});

describe("many calls at once over a limit, to two isolates of a location with the platform's limiter", () => {
  let located: WorkerPair;
  beforeAll(async () => {
    located = await startWorkerPair({}, undefined, true);
  });
  afterAll(() => located.stop());

  test("are never more than the limit where a daily limit is exact, and no fewer", async () => {
    const tenant = await newTenant({ dailyToolCalls: MOST, exact: true }, {}, located);
    const { served } = await flood(tenant, located);
    print("an exact daily limit beside the limiter of a location", served);
    expect(served).toBe(MOST);
  });

  test("pass a limit of messages a minute by what comes before the limiter has answered, and then both isolates pause", async () => {
    // The limiter counts by minutes of the clock: in the middle of this test none begins.
    await expect.poll(() => Date.now() % 60_000, { timeout: 60_000, interval: 500 }).toBeLessThan(48_000);
    const tenant = await newTenant({ addressMessages: MOST }, {}, located);
    await located.one.reset();
    const { served, refused } = await flood(tenant, located);
    print("a limit a minute with the limiter of a location", served);
    process.stdout.write(`The limiter of a location let ${served - MOST} too many through\n`);
    expect(await located.one.calls()).toContain("RATE_LIMITS limit");
    expect(served).toBeGreaterThanOrEqual(MOST);
    expect(served).toBeLessThanOrEqual(2 * MOST + MOST / 2);
    expect(refused[0]?.json.error).toMatchObject({ data: { limit: "addressMessages", most: MOST } });
    // An isolate alone has room again in a second.
    const waits = refused.map(({ headers }) => Number(headers.get("retry-after")));
    expect(Math.max(...waits)).toBeGreaterThan(5);
  }, 120_000);
});

test("a daily limit of each key is each key's own, and other messages do not count", async () => {
  const tenant = await newTenant({ principalDailyToolCalls: 3, exact: true }, { mode: "key" });
  const keys = await Promise.all(
    ["a", "b"].map(async (name) =>
      String((await workers.one.admin("POST", `/tenants/${tenant}/keys`, { name })).token),
    ),
  );
  for (const token of keys) {
    const calls: number[] = [];
    for (let sent = 0; sent < 5; sent += 1) {
      const { headers, body } = write(REVISION, "tools/call", CALL);
      const init = { method: "POST", headers: { ...headers, authorization: `Bearer ${token}` } };
      const to = sent % 2 === 0 ? workers.one : workers.two;
      calls.push((await fetch(`${to.origin}/mcp/${tenant}`, { ...init, body: JSON.stringify(body) })).status);
    }
    expect(calls).toEqual([200, 200, 200, 429, 429]);
  }
});

test("calls that one isolate counted of a daily limit are known to another some seconds later", async () => {
  const tenant = await newTenant({ dailyToolCalls: 10 });
  const status = async ({ origin }: { readonly origin: string }) => (await send(origin, tenant)).status;
  const { one, two } = workers;
  expect(await status(two)).toBe(200);
  for (let call = 0; call < 9; call += 1) expect(await status(one)).toBe(200);
  await expect.poll(() => status(two), { timeout: 20_000, interval: 500 }).toBe(429);
}, 120_000);

test("a limit that was met is one row of the audit log, however many were refused", async () => {
  const tenant = await newTenant({ addressMessages: 5 });
  const { refused } = await flood(tenant);
  expect(refused.length).toBeGreaterThan(0.8 * CALLS);
  const noted = async () => {
    const { items } = await workers.one.admin("GET", `/tenants/${tenant}/audit`);
    return (items as Json[]).filter(({ action }) => action === "limit.met");
  };
  await expect.poll(noted).toMatchObject([{ actor: "limits", target: "limit addressMessages", after: { most: 5 } }]);
  await flood(tenant);
  expect(await noted()).toHaveLength(1);
});

test("each message of a batch over the limit has an error of its own, and the others are answered", async () => {
  const tenant = await newTenant({ addressMessages: 20 });
  const batch = Array.from({ length: 50 }, (_none, id) => ({ jsonrpc: "2.0", id, method: "ping" }));
  const post = () =>
    fetch(`${workers.one.origin}/mcp/${tenant}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(batch),
    });
  const first = await post();
  expect(first.status).toBe(200);
  const answers = (await first.json()) as { id: number; result?: Json; error?: { code: number; data: Json } }[];
  expect(answers.map(({ id }) => id)).toEqual(batch.map(({ id }) => id));
  expect(answers.map(({ error }) => error?.code)).toEqual([...Array(20).fill(undefined), ...Array(30).fill(-32005)]);
  expect(answers.at(-1)?.error?.data).toMatchObject({ limit: "addressMessages", most: 20 });
  // Where nothing is answered, the status says it too.
  const second = await post();
  expect(second.status).toBe(429);
  expect(Number(second.headers.get("retry-after"))).toBeGreaterThan(0);
  expect(await second.json()).toHaveLength(50);
});

test("a message that is refused for its shape counts like any other", async () => {
  const tenant = await newTenant({ addressMessages: 10 });
  const post = async (body: string) => {
    const headers = { "content-type": "application/json", "mcp-protocol-version": REVISION };
    return (await fetch(`${workers.one.origin}/mcp/${tenant}`, { method: "POST", headers, body })).status;
  };
  const bodies = ["{", '{"jsonrpc":"2.0","id":1}', "[]", "7", '{"jsonrpc":"2.0","id":1,"method":"tools/call"}'];
  const statuses: number[] = [];
  for (let sent = 0; sent < 12; sent += 1) statuses.push(await post(bodies[sent % bodies.length] ?? ""));
  expect(statuses.slice(0, 10)).not.toContain(429);
  expect(statuses.slice(10)).toEqual([429, 429]);
});

async function session(tenant: string, by: Record<string, string> = {}): Promise<Record<string, string>> {
  const { headers, body } = write("2025-11-25", "initialize", {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "test", version: "1" },
  });
  const init = { method: "POST", headers: { ...headers, ...by }, body: JSON.stringify(body) };
  const begun = await fetch(`${workers.one.origin}/mcp/${tenant}`, init);
  await begun.text();
  return { ...headers, ...by, "mcp-session-id": begun.headers.get("mcp-session-id") ?? "" };
}

test("sessions that must be remembered are bounded for each address, over all isolates, and one that ends makes room", async () => {
  const tenant = await newTenant({ sessions: 10 });
  const { body } = write("2025-11-25", "logging/setLevel", { level: "info" });
  const remember = async (headers: Record<string, string>, at: number) => {
    const { origin } = at % 2 === 0 ? workers.one : workers.two;
    return fetch(`${origin}/mcp/${tenant}`, { method: "POST", headers, body: JSON.stringify(body) });
  };
  const sessions = await Promise.all(Array.from({ length: 30 }, () => session(tenant)));
  const answers = await Promise.all(sessions.map(remember));
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(10);
  const refused = answers.find(({ status }) => status === 429);
  expect(await refused?.json()).toMatchObject({ error: { code: -32005, data: { limit: "sessions", most: 10 } } });
  expect(Number(refused?.headers.get("retry-after"))).toBeGreaterThan(0);
  const [ended, waiting] = [200, 429].map((status) => sessions[answers.findIndex((one) => one.status === status)]);
  const gone = await fetch(`${workers.one.origin}/mcp/${tenant}`, { method: "DELETE", headers: ended ?? {} });
  expect(gone.status).toBe(204);
  expect((await remember(waiting ?? {}, 0)).status).toBe(200);
});

test("callers without a credential do not take all of a tenant's sessions, from however many addresses", async () => {
  const tenant = await newTenant({ sessions: 10, tenantSessions: 20 });
  const { body } = write("2025-11-25", "logging/setLevel", { level: "info" });
  const remember = async (by: Record<string, string>) => {
    const headers = await session(tenant, by);
    const init = { method: "POST", headers, body: JSON.stringify(body) };
    return (await fetch(`${workers.one.origin}/mcp/${tenant}`, init)).status;
  };
  const many = Array.from({ length: 30 }, (_none, at) => remember({ "cf-connecting-ip": `2001:db8:0:${at}::1` }));
  expect((await Promise.all(many)).filter((status) => status === 200)).toHaveLength(15);
  const key = await workers.one.admin("POST", `/tenants/${tenant}/keys`, { name: "one" });
  const statuses: number[] = [];
  for (let at = 0; at < 6; at += 1) {
    statuses.push(await remember({ authorization: `Bearer ${String(key.token)}` }));
  }
  expect(statuses).toEqual([200, 200, 200, 200, 200, 429]);
});

test("notification streams are bounded for each address, over all isolates", async () => {
  const tenant = await newTenant({ streams: 3 });
  const open = async (at: number) => {
    const { origin } = at % 2 === 0 ? workers.one : workers.two;
    const { headers, body } = write(REVISION, "subscriptions/listen", { notifications: { toolsListChanged: true } });
    const stop = new AbortController();
    const init = { method: "POST", headers, body: JSON.stringify(body), signal: stop.signal };
    return { response: await fetch(`${origin}/mcp/${tenant}`, init), stop };
  };
  const opened = [];
  for (let at = 0; at < 5; at += 1) opened.push(await open(at));
  expect(opened.map(({ response }) => response.status)).toEqual([200, 200, 200, 429, 429]);
  expect(await opened[3]?.response.json()).toMatchObject({ error: { data: { limit: "streams", most: 3 } } });
  for (const { stop } of opened) stop.abort();
});

test("requests that run at once are bounded for each address, and one that ends makes room", async () => {
  const tenant = await newTenant({ concurrentCalls: 4 });
  const wait = { name: "flow_waits", arguments: { ms: 60_000, token: crypto.randomUUID() } };
  const answers = await Promise.all(
    Array.from({ length: 10 }, () => send(workers.one.origin, tenant, "tools/call", wait)),
  );
  const refused = answers.filter(({ status }) => status === 429);
  expect(refused).toHaveLength(6);
  expect(refused[0]?.json.error).toMatchObject({ data: { limit: "concurrentCalls", most: 4 } });
  expect((await send(workers.one.origin, tenant)).status).toBe(200);
});

test("an answer that is longer than allowed is an error that says so", async () => {
  const tenant = await newTenant({ resultBytes: 2000 });
  expect((await send(workers.one.origin, tenant)).json.error).toBeUndefined();
  const { status, json } = await send(workers.one.origin, tenant, "tools/list", {});
  expect(status).toBe(200);
  expect(json.error).toMatchObject({ data: { limit: "resultBytes", most: 2000 } });
});

test("everything that is stored is bounded in bytes, and what takes less than before is stored all the same", async () => {
  const tenant = await newTenant({ storedBytes: 100 });
  const put = async (uri: string, bytes: number) => {
    const url = `${workers.one.origin}/admin/v1/tenants/${tenant}/resources/content?uri=${encodeURIComponent(uri)}`;
    const headers = { authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": "text/plain" };
    const response = await fetch(url, { method: "PUT", headers, body: "x".repeat(bytes) });
    return { status: response.status, text: await response.text() };
  };
  expect((await put("note:a", 60)).status).toBe(201);
  const refused = await put("note:b", 50);
  expect(refused.status).toBe(409);
  expect(refused.text).toContain("limits.storedBytes");
  expect((await put("note:a", 40)).status).toBe(200);
  expect((await put("note:b", 60)).status).toBe(201);
  expect((await put("note:b", 61)).status).toBe(409);
});

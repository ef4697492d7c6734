// Limits over two isolates of one storage: what is exact is never exceeded, and what each isolate counts by itself is
// exceeded by no more than the isolates there are. The figures are printed.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Json } from "../support/mcp.ts";
import { write } from "../support/raw-http.ts";
import { startTwoWorkers, type TwoWorkers } from "../support/two-workers.ts";

const CALLS = 1000;
const MOST = 100;
const REVISION = "2026-07-28";
const CALL = { name: "flow_logs", arguments: { level: "info", logger: "test", data: "x" } };

let workers: TwoWorkers;
beforeAll(async () => {
  workers = await startTwoWorkers();
});
afterAll(() => workers.stop());

let made = 0;
async function newTenant(limits: Json, document: Json = {}): Promise<string> {
  made += 1;
  const id = `limited-${made}`;
  await workers.one.admin("POST", "/tenants", { id, document: { mode: "open", limits, ...document } });
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
async function flood(tenant: string) {
  const answers = await Promise.all(
    Array.from({ length: CALLS }, (_none, at) => send((at % 2 === 0 ? workers.one : workers.two).origin, tenant)),
  );
  const refused = answers.filter(({ status }) => status === 429);
  const served = answers.filter(({ status }) => status === 200);
  expect(refused.length + served.length).toBe(CALLS);
  return { served: served.length, refused };
}

function print(what: string, served: number): void {
  process.stdout.write(`${CALLS} calls at once to 2 isolates, ${what}: ${served} served of ${MOST}\n`);
}

describe("1,000 calls at once over a limit of 100, to two isolates", () => {
  test("are never more than the limit where a daily limit is exact, and no fewer", async () => {
    const tenant = await newTenant({ dailyToolCalls: MOST, exact: true });
    const { served, refused } = await flood(tenant);
    print("an exact daily limit", served);
    expect(served).toBe(MOST);
    const [first] = refused;
    expect(first?.json.error).toMatchObject({ data: { limit: "dailyToolCalls", most: MOST } });
    expect(Number(first?.headers.get("retry-after"))).toBeLessThanOrEqual(86_400);
    expect(first?.headers.get("ratelimit-policy")).toBe(`"dailyToolCalls";q=${MOST};w=86400`);
    expect((await flood(tenant)).served).toBe(0);
  });

  test("exceed a daily limit that need not be exact only while the authority is asked, and then end", async () => {
    const tenant = await newTenant({ dailyToolCalls: MOST });
    const { served } = await flood(tenant);
    print("a daily limit", served);
    expect(served).toBeGreaterThanOrEqual(MOST);
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

test("what an isolate got of a daily limit and did not use can be used by another some seconds later", async () => {
  const tenant = await newTenant({ dailyToolCalls: 60, exact: true });
  const count = async (origin: string) => {
    let served = 0;
    while ((await send(origin, tenant)).status === 200) served += 1;
    return served;
  };
  expect((await send(workers.one.origin, tenant)).status).toBe(200);
  const two = await count(workers.two.origin);
  // Of the first three that isolate one got, one was used.
  expect(two).toBe(57);
  await expect
    .poll(async () => (await send(workers.two.origin, tenant)).status, { timeout: 20_000, interval: 500 })
    .toBe(200);
  expect(1 + two + 1 + (await count(workers.two.origin))).toBe(60);
}, 30_000);

test("a limit that was met is one row of the audit log, however many were refused", async () => {
  const tenant = await newTenant({ addressMessages: 5 });
  const { refused } = await flood(tenant);
  expect(refused.length).toBeGreaterThan(900);
  const noted = async () => {
    const { items } = await workers.one.admin("GET", `/tenants/${tenant}/audit`);
    return (items as Json[]).filter(({ action }) => action === "limit.met");
  };
  await expect.poll(noted).toMatchObject([{ actor: "limits", target: "limit addressMessages", after: { most: 5 } }]);
  await flood(tenant);
  expect(await noted()).toHaveLength(1);
});

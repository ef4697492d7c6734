// Names of no tenant and credentials that are none, tried from one address: after too many of them the answer is 429, the
// same whether the tenant exists, and nothing is looked up for it.

import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { createKey } from "../../src/auth/api-key.ts";
import { createWorker, gateway, type TenantryWorker } from "../../src/tenantry.ts";
import { freshAddress } from "../support/workerd/tenant.ts";

const MOST = 10;
const ORIGIN = "https://refused.example.com";
const workerOf = (mode: "open" | "key") =>
  createWorker({
    limits: { addressRefusals: MOST },
    tenants: { private: { mode: "key" }, shared: { mode } },
    features: [gateway()],
  });

interface Tried {
  readonly address: string;
  readonly tenant: string;
  readonly token?: string;
  readonly method?: string;
  readonly endpoint?: "mcp" | "gateway";
}

let lookups = 0;
/** Counts who is asked: the directory and the authorities. */
const watched = new Proxy(env, {
  get: (target, name) => {
    if (name === "TenantObject" || name === "DirectoryObject") lookups += 1;
    return Reflect.get(target, name) as unknown;
  },
});

async function attempt(worker: Pick<TenantryWorker, "fetch">, tried: Tried) {
  const { address, tenant, token, method = "POST", endpoint = "mcp" } = tried;
  const request = new Request(`${ORIGIN}/${endpoint}/${tenant}`, {
    method,
    headers: {
      "content-type": "application/json",
      "cf-connecting-ip": address,
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    ...(method === "POST" ? { body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }) } : {}),
  });
  const ctx = createExecutionContext();
  const response = await worker.fetch(request, watched, ctx);
  await waitOnExecutionContext(ctx);
  const { status, headers } = response;
  return { status, text: await response.text(), retryAfter: headers.get("retry-after") };
}

const { token: FAKE } = await createKey();
const TRIED = [
  ["a name of no tenant", { tenant: "nobody" }],
  ["a tenant that takes keys, without one", { tenant: "private" }],
  ["a tenant, with a key that is none", { tenant: "private", token: FAKE }],
  ["an open tenant, with a key that is none", { tenant: "shared", token: "tnt_nothing" }],
  ["a name of no tenant, with a key that is none", { tenant: "nobody", token: FAKE }],
] as const;

describe.each(["mcp", "gateway"] as const)("at /%s", (endpoint) => {
  describe.each(["POST", "GET", "DELETE", "PUT"])("by %s", (method) => {
    it.each(TRIED)("%s is refused as it is, and after too many times with 429", async (_what, tried) => {
      const worker = workerOf("open");
      const address = freshAddress();
      const statuses: number[] = [];
      for (let times = 0; times < MOST + 2; times += 1)
        statuses.push((await attempt(worker, { ...tried, address, method, endpoint })).status);
      expect(statuses).toEqual([...Array(MOST).fill(statuses[0]), 429, 429]);
      expect([401, 404]).toContain(statuses[0]);
    });
  });
});

it("a refusal is the same for an existing and a missing tenant, and calls no object", async () => {
  const worker = workerOf("key");
  const address = freshAddress();
  for (let times = 0; times < MOST; times += 1) await attempt(worker, { address, tenant: "nobody" });
  lookups = 0;
  const answers = await Promise.all(
    ["private", "shared", "nobody", "nobody-else"].flatMap((tenant) =>
      [undefined, FAKE, "nothing"].map((token) =>
        attempt(worker, { address, tenant, ...(token === undefined ? {} : { token }) }),
      ),
    ),
  );
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([429]));
  expect(new Set(answers.map(({ text }) => text.replaceAll(/"id":(?:1|null),/g, ""))).size).toBe(1);
  expect(Number(answers[0]?.retryAfter)).toBeGreaterThan(0);
});

it("an open tenant serves others behind a refused address, and other addresses are refused as before", async () => {
  const worker = workerOf("open");
  const address = freshAddress();
  for (let times = 0; times < 2 * MOST; times += 1) await attempt(worker, { address, tenant: "nobody" });
  expect((await attempt(worker, { address, tenant: "shared" })).status).toBe(200);
  expect((await attempt(worker, { address: freshAddress(), tenant: "nobody" })).status).toBe(401);
});

it("a refused address wakes no directory and no authority", async () => {
  const worker = workerOf("open");
  const address = freshAddress();
  for (let times = 0; times < MOST; times += 1) await attempt(worker, { address, tenant: `nobody-${times}` });
  lookups = 0;
  for (let times = 0; times < 20; times += 1) {
    expect((await attempt(worker, { address, tenant: `other-${times}` })).status).toBe(429);
    const { token } = await createKey();
    expect((await attempt(worker, { address, tenant: "private", token })).status).toBe(429);
  }
  expect(lookups).toBe(0);
});

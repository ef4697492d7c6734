// Who has a key that this isolate knows is let in behind an address that is refused, also after the hour in which it was asked about.

import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { createWorker, type Env } from "../../src/tenantry.ts";
import { adminEnv, ask, ORIGIN } from "../support/workerd/admin.ts";
import { freshAddress } from "../support/workerd/tenant.ts";

const HOUR_MS = 3_600_000;
const MOST = 10;
const ADDRESS = freshAddress();
const worker = createWorker({ limits: { addressRefusals: MOST } });
const bindings = adminEnv as unknown as Env;

async function come(id: string, token?: string): Promise<number> {
  const headers = {
    "content-type": "application/json",
    "cf-connecting-ip": ADDRESS,
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
  };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });
  const ctx = createExecutionContext();
  const { status } = await worker.fetch(
    new Request(`${ORIGIN}/mcp/${id}`, { method: "POST", headers, body }),
    bindings,
    ctx,
  );
  await waitOnExecutionContext(ctx);
  return status;
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
});
afterEach(() => {
  vi.useRealTimers();
});

it("another key's lease in the next hour does not lock out the others behind a refused address", async () => {
  const id = "hour-by-hour";
  expect((await ask("POST", "/tenants", { json: { id, document: { mode: "open" } } })).status).toBe(201);
  const tokens: string[] = [];
  for (const name of ["first", "second"]) {
    const made = await ask("POST", `/tenants/${id}/keys`, { json: { name } });
    tokens.push((made.body as { token: string }).token);
  }
  for (const token of tokens) expect(await come(id, token)).toBe(200);
  vi.setSystemTime(Date.now() + HOUR_MS);
  for (let times = 0; times <= MOST; times += 1) await come(`nobody-hour-${times}`);
  expect(await come("nobody-hour")).toBe(429);
  for (const token of tokens) expect(await come(id, token)).toBe(200);
  // Asked about anew, as every key is in each hour.
  expect(await come(id, "tnk_nothing")).toBe(429);
});

// Whoever made up operators' tokens asked the platform's one object as often as they liked: it also decides what is stopped
// everywhere, and each isolate waits for it. An address that is refused too often waits before anybody is asked.

import { expect, test, beforeAll } from "vitest";
import { createKey } from "../../src/auth/api-key.ts";
import { sharedWorkerPair, type SharedWorkerPair } from "../support/worker-pair.ts";

let workers: SharedWorkerPair;
beforeAll(async () => {
  workers = await sharedWorkerPair();
});

const ASKED = "PlatformObject operators.operatorByHash";
const MOST_A_MINUTE = 100;

async function statusFor(token: string, address: string): Promise<number> {
  const headers = { authorization: `Bearer ${token}`, "cf-connecting-ip": address };
  const response = await fetch(`${workers.one.origin}/admin/v1/tenants`, { headers });
  await response.body?.cancel();
  return response.status;
}

test("forged tokens of one address reach the platform's object so often a minute and no more", async () => {
  const { token } = (await workers.one.admin("POST", "/operators", { name: "ann", role: "auditor" })) as {
    token: string;
  };
  expect(await statusFor(token, "203.0.113.9")).toBe(200);
  await workers.one.reset();
  const began = Date.now();
  const forged = await Promise.all(
    Array.from({ length: 400 }, async () => statusFor((await createKey("operator")).token, "203.0.113.9")),
  );
  const minutes = (Date.now() - began) / 60_000;
  expect(new Set(forged)).toEqual(new Set([401, 429]));
  const calls = (await workers.one.calls()).filter((call) => call === ASKED).length;
  expect(calls).toBe(forged.filter((status) => status === 401).length);
  // What flows in again while they are tried.
  expect(calls).toBeLessThanOrEqual(Math.ceil(MOST_A_MINUTE * (1 + minutes)));
  // Whoever was let in before goes on, at this address too; others are not disturbed.
  expect(await statusFor(token, "203.0.113.9")).toBe(200);
  expect(await statusFor((await createKey("operator")).token, "203.0.113.10")).toBe(401);
});

// Calls that a login would allow: anybody can send them, so limits count them, and no body reports more than a batch holds.

import { expect, it } from "vitest";
import { createWorker, defineTool, login } from "../../src/tenantry.ts";
import { MAX_BATCH } from "../../src/protocol/classify.ts";
import { sendTo, servedTenant } from "../support/workerd/served-tenant.ts";
import { freshAddress } from "../support/workerd/tenant.ts";

async function setup(addressMessages: number) {
  let reports = 0;
  const mcp = createWorker({
    tenants: {},
    tools: [defineTool({ name: "see", handler: () => "seen" })],
    features: [login()],
    around: async (_call, next) => {
      reports += 1;
      return next();
    },
  });
  const { id } = await servedTenant({
    mode: "mixed",
    scopes: { read: { tools: ["see"] } },
    auth: { login: { via: "key" }, anonymous: { scopes: ["read"] } },
    limits: { addressMessages },
  });
  const headers = { "cf-connecting-ip": freshAddress() };
  const send = async (message: unknown) => (await sendTo(mcp, id, { message: message as object, headers })).status;
  return { send, reports: () => reports };
}

const hidden = (id: number) => ({ jsonrpc: "2.0", id, method: "tools/call", params: { name: `hidden-${id}` } });

it("a body of many hidden calls is refused once, and reported as one batch", async () => {
  const { send, reports } = await setup(10_000);
  expect(await send(Array.from({ length: 2000 }, (_none, at) => hidden(at)))).toBe(401);
  expect(reports()).toBeLessThanOrEqual(MAX_BATCH);
});

it("calls of hidden tools count towards the limit of the caller", async () => {
  const { send } = await setup(5);
  const statuses = [];
  for (let at = 0; at < 7; at += 1) statuses.push(await send(hidden(at)));
  expect(statuses).toEqual([401, 401, 401, 401, 401, 429, 429]);
});

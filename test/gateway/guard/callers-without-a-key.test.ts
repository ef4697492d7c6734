// Callers without a key are told apart by where they come from: what one of them makes an upstream do keeps no other from it.

import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { FAILURES_IN_A_ROW } from "../../../src/gateway/guard/upstream-circuit.ts";
import { createWorker, defineTool, gateway } from "../../../src/tenantry.ts";
import { sendTo, servedTenant } from "../../support/worker/deployed.ts";
import { upstreamAt } from "../../support/worker/upstreams.ts";

const worker = createWorker({ tenants: {}, features: [gateway()] });
const upstream = createWorker({ tenants: { acme: {} }, tools: [defineTool({ name: "add", handler: () => "added" })] });

it("is answered whose neighbour without a key asked for what takes too long", async () => {
  const url = upstreamAt(async (request) => {
    // Nobody answers this, ever.
    if ((await request.clone().text()).includes('"hang"')) await new Promise(() => {});
    return upstream.fetch(request, env, createExecutionContext());
  });
  const document = { mode: "open", maxStalenessMs: 50, upstreams: { sums: { url, era: "2026", timeoutMs: 100 } } };
  const { id } = await servedTenant(document as Parameters<typeof servedTenant>[0]);
  const ask = async (address: string, method: string, params: object = {}) => {
    const message = { jsonrpc: "2.0", id: 1, method, params };
    const response = await sendTo(worker, id, { message, headers: { "cf-connecting-ip": address } });
    const text = await response.text();
    return JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? text) as { result?: object; error?: object };
  };
  const call = (address: string, args: object) => ask(address, "tools/call", { name: "sums__add", arguments: args });
  await expect.poll(async () => JSON.stringify(await ask("192.0.2.1", "tools/list"))).toContain("sums__add");
  for (let time = 0; time < FAILURES_IN_A_ROW; time += 1) {
    expect(await call("192.0.2.1", { hang: true })).toMatchObject({ error: { data: { timeoutMs: 100 } } });
  }
  expect(await call("192.0.2.1", {})).toMatchObject({ error: { data: { fault: "unreachable" } } });
  expect(await call("192.0.2.2", {})).toHaveProperty("result");
});

// New sessions of era 2025 do not raise a limit.

import { expect, it } from "vitest";
import { createWorker, defineTool } from "../../src/tenantry.ts";
import { sendTo, servedTenant, sessionAt } from "../support/workerd/served-tenant.ts";
import { freshAddress } from "../support/workerd/tenant.ts";

const MOST = 3;
const ADDRESS = { "cf-connecting-ip": freshAddress() };
const worker = createWorker({ tenants: {}, tools: [defineTool({ name: "go", handler: () => "went" })] });
const message = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "go", arguments: {} } };

it.each(["a day", "a minute"])("are as many in %s in new sessions as in one", async (time) => {
  const limits = time === "a day" ? { dailyToolCalls: MOST, exact: true } : { addressToolCalls: MOST };
  const { id } = await servedTenant({ mode: "open", limits });
  const lines: string[] = [];
  for (let call = 0; call < 2 * MOST; call += 1) {
    const headers = { ...(await sessionAt(worker, id)), ...ADDRESS };
    lines.push(await (await sendTo(worker, id, { message, headers })).text());
  }
  const served = lines.map((text) => text.includes("went"));
  expect(served).toEqual([true, true, true, false, false, false]);
  expect(lines.at(-1)).toContain(time === "a day" ? "dailyToolCalls" : "addressToolCalls");
});

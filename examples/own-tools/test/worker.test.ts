// The whole Worker, in workerd, as a client calls it.
import { exports } from "cloudflare:workers";
import { expect, it } from "vitest";
import type * as main from "../src/worker.ts";

declare global {
  namespace Cloudflare {
    interface GlobalProps {
      mainModule: typeof main;
    }
  }
}

async function call(tenant: string, name: string, args: object): Promise<unknown> {
  const message = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: args } };
  const response = await exports.default.fetch(`https://example.com/mcp/${tenant}`, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json" },
    body: JSON.stringify(message),
  });
  return response.json();
}

it("quotes for acme at its own rates", async () => {
  const content = [{ type: "text", text: "2 kg ships for 7 EUR." }];
  expect(await call("acme", "quote_shipping", { weightKg: 2 })).toMatchObject({ result: { content } });
});

it("has no rates for globex, and so no such tool", async () => {
  expect(await call("globex", "quote_shipping", { weightKg: 2 })).toMatchObject({ error: { code: -32602 } });
});

// The Worker of docs/api-tools.md does what the page says, in both eras.

import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import worker from "../fixtures/api-tools-worker.ts";
import { sendTo } from "../support/workerd/served-tenant.ts";

const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": { elicitation: {} },
};
const at = { ...env, GREETING: "hello" };

describe.each(["2025-11-25", "2026-07-28"])("in %s", (revision) => {
  async function ask(method: string, params: Record<string, unknown>): Promise<Record<string, unknown>> {
    const isNew = revision === "2026-07-28";
    const message = { jsonrpc: "2.0", id: 1, method, params: isNew ? { ...params, _meta: META } : params };
    const named = params["name"] ?? params["uri"];
    const headers = {
      "mcp-protocol-version": revision,
      accept: "application/json",
      ...(isNew ? { "mcp-method": method, ...(typeof named === "string" ? { "mcp-name": named } : {}) } : {}),
    };
    const { result } = await (await sendTo(worker, "acme", { message, headers, at })).json<{ result: never }>();
    return result;
  }

  it("its tools return objects, by the tenant's config and settings and the Worker's bindings", async () => {
    const quoted = await ask("tools/call", { name: "quote", arguments: { weightKg: 2 } });
    expect(quoted).toMatchObject({ structuredContent: { price: 6, currency: "EUR" } });
    const who = await ask("tools/call", { name: "whoami", arguments: {} });
    expect(who).toMatchObject({ structuredContent: { tenant: "acme", plan: "paid", hello: "hello" } });
  });

  it("its prompt and its template read settings, and are given what is declared", async () => {
    const prompt = await ask("prompts/get", { name: "reply", arguments: { question: " Where? " } });
    expect(JSON.stringify(prompt)).toContain("Draft a friendly reply in en to: Where?");
    const order = await ask("resources/read", { uri: "order://7?lines=2" });
    expect(JSON.stringify(order)).toContain("order 7 of acme, 2 lines");
  });
});

it("its question is answered with the schema's defaults", async () => {
  const headers = { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "book" };
  const book = async (more: object) => {
    const params = { name: "book", arguments: {}, _meta: META, ...more };
    const message = { jsonrpc: "2.0", id: 1, method: "tools/call", params };
    const sent = await sendTo(worker, "acme", { message, headers: { ...headers, accept: "application/json" }, at });
    return (await sent.json<{ result: Record<string, unknown> }>()).result;
  };
  const { requestState } = await book({});
  const inputResponses = { seats: { action: "accept", content: { seats: 2 } } };
  expect(await book({ requestState, inputResponses })).toMatchObject({
    structuredContent: { booked: 2, window: false },
  });
});

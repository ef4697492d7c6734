// During a call over HTTP+SSE the gateway dropped every message that was no response: no progress, no log messages, no
// questions, and pings of the upstream without an answer. A tool that asked waited for 60 seconds.

import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { StreamableHTTPClientTransport as TransportV2 } from "@modelcontextprotocol/client";
import { describe, expect, onTestFinished, test } from "vitest";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { gatewayTenant, namesIn, startGatewayWorker } from "../support/gateway-tenant.ts";
import { listenTo } from "../support/listening.ts";
import { client2026, ERAS, type Client, type Json } from "../support/mcp-client.ts";
import { answeringV1, answeringV2, ROOTS, SAMPLED, textOf } from "../support/official-clients.ts";
import { startSseUpstream } from "./sse-upstream.ts";

const origin = await startGatewayWorker();
const admin = fixtureAdmin(origin, "sse");

async function behindGateway() {
  const up = await startSseUpstream();
  const tenant = await gatewayTenant(origin, admin, { up: { url: up.url, era: "2025" } });
  return { up, tenant };
}

const call = (client: Client, name: string, args: Json = {}) =>
  client.request("tools/call", { name: `up__${name}`, arguments: args });

async function officialV1(url: string) {
  const requests: string[] = [];
  const client = answeringV1({ onQuestion: (method) => void requests.push(method) });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  onTestFinished(() => client.close());
  return { client, requests };
}

async function officialV2(url: string) {
  const client = answeringV2("2026");
  await client.connect(new TransportV2(new URL(url)));
  onTestFinished(() => client.close());
  return client;
}

describe.each(ERAS)("a client of era $era", ({ era, revision }) => {
  test("hears the progress of a call", async () => {
    const { tenant } = await behindGateway();
    const params = { name: "up__progress", arguments: {}, _meta: { progressToken: "mine" } };
    const client = era === "2026" ? client2026(tenant.url, {}, params._meta) : await tenant.client(revision);
    const { messages } = await client.request("tools/call", params);
    const notifications = messages.filter(({ method }) => method === "notifications/progress");
    const told = [1, 2, 3].map((progress) => ({ params: { progressToken: "mine", progress, total: 3 } }));
    expect(notifications).toMatchObject(told);
  });

  test.each([
    ["debug", ["debug", "info", "error"]],
    ["error", ["error"]],
  ])("hears log messages from level %s on", async (level, levels) => {
    const { tenant } = await behindGateway();
    const client =
      era === "2026"
        ? client2026(tenant.url, {}, { "io.modelcontextprotocol/logLevel": level })
        : await tenant.client(revision);
    if (era === "2025") await client.request("logging/setLevel", { level });
    const { messages } = await call(client, "log");
    const notifications = messages.filter(({ method }) => method === "notifications/message");
    expect(notifications.map(({ params }) => (params as Json)["level"])).toEqual(levels);
  });

  test("does not see that the upstream pings it, and is answered in its place", async () => {
    const { tenant } = await behindGateway();
    const { messages, result } = await call(await tenant.client(revision), "ask", { what: "ping" });
    expect(result).toMatchObject({ content: [{ text: "{}" }] });
    expect(messages).toHaveLength(1);
  });

  test.each(["elicitation", "sampling", "roots"])(
    "that declares nothing is not asked for %s, and the tool hears so at once",
    async (what) => {
      const { tenant } = await behindGateway();
      const { messages, result } = await call(await tenant.client(revision), "ask", { what });
      expect(result).toMatchObject({
        isError: true,
        content: [{ text: expect.stringContaining("-32601") as unknown }],
      });
      expect(messages).toHaveLength(1);
    },
  );
});

test.each([
  ["elicitation", "elicitation/create", { action: "accept", content: { yes: true } }],
  ["sampling", "sampling/createMessage", SAMPLED],
  ["roots", "roots/list", { roots: ROOTS }],
])("an official client of era 2025 is asked for %s, and the tool has its answer", async (what, method, answer) => {
  const { tenant } = await behindGateway();
  const { client, requests } = await officialV1(tenant.url);
  const result = await client.callTool({ name: "up__ask", arguments: { what } });
  expect(requests).toEqual([method]);
  expect(JSON.parse(textOf(result))).toEqual(answer);
});

test("an official client of era 2026 that declares everything is not asked, and the tool hears so at once", async () => {
  const { tenant } = await behindGateway();
  const client = await officialV2(tenant.url);
  const result = await client.callTool({ name: "up__ask", arguments: { what: "elicitation" } });
  expect(result).toMatchObject({ isError: true, content: [{ text: expect.stringContaining("-32601") as unknown }] });
});

test("list_changed during a call has the list read at once, and others hear of it", { timeout: 40_000 }, async () => {
  const { up, tenant } = await behindGateway();
  const readings = () => up.requests.filter(({ message }) => message?.["method"] === "tools/list").length;
  const before = readings();
  const listening = await listenTo("2025-11-25", tenant.url);
  const client = await tenant.client();
  await call(client, "grow");
  await expect.poll(readings).toBeGreaterThan(before);
  // That of the reading before may be on its way still.
  const listed = async () => namesIn((await client.request("tools/list")).result);
  do await listening.next();
  while (!(await listed()).includes("up__grown"));
  await listening.events.close();
});

describe("a call that is cancelled", () => {
  test("by an official client of era 2025 is cancelled at the upstream", async () => {
    const { up, tenant } = await behindGateway();
    const { client } = await officialV1(tenant.url);
    const abort = new AbortController();
    const called = client.callTool({ name: "up__wait", arguments: {} }, undefined, { signal: abort.signal });
    const ended = expect(called).rejects.toThrow();
    await up.waiting;
    abort.abort();
    await ended;
    await up.cancelled;
  });

  test("by an official client of era 2026 is cancelled at the upstream", async () => {
    const { up, tenant } = await behindGateway();
    const client = await officialV2(tenant.url);
    const abort = new AbortController();
    const ended = expect(
      client.callTool({ name: "up__wait", arguments: {} }, { signal: abort.signal }),
    ).rejects.toThrow();
    await up.waiting;
    abort.abort();
    await ended;
    await up.cancelled;
  });
});

// Everything that real servers offer, through a gateway and through three in a row, with both official clients: what is
// listed, called, read and completed is what the server answers without a gateway.

import { Client as ClientV2, StreamableHTTPClientTransport as TransportV2 } from "@modelcontextprotocol/client";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { StreamableHTTPClientTransport as TransportV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { LoggingMessageNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { fixtureOrigin } from "../support/fixture-origin.ts";
import { gatewayTenant, startGatewayWorker } from "../support/gateway-tenant.ts";
import { startSdkEverything, type SdkEverything, type SdkTransport } from "./everything-server.ts";

const origin = await startGatewayWorker();
const admin = fixtureAdmin(origin, "real");
const ABOUT = { name: "upstreams-test", version: "1" };
const CONFORMANCE = `${fixtureOrigin()}/mcp/conformance`;

interface Row {
  readonly server: string;
  /** A server of the SDK in this process; without it, the fixture Worker. */
  readonly sdk?: SdkTransport;
  readonly era: "2025" | "2026" | "auto";
  readonly gateways: number;
}

const ROWS: readonly Row[] = [
  { server: "SDK v1 with sessions", sdk: "sessions", era: "auto", gateways: 1 },
  { server: "SDK v1 without sessions", sdk: "stateless", era: "auto", gateways: 1 },
  { server: "SDK v1 over HTTP+SSE", sdk: "http-sse", era: "auto", gateways: 1 },
  { server: "tenantry in era 2025", era: "2025", gateways: 1 },
  { server: "tenantry in era 2026", era: "2026", gateways: 1 },
  { server: "SDK v1 with sessions", sdk: "sessions", era: "auto", gateways: 3 },
  { server: "tenantry in era 2026", era: "2026", gateways: 3 },
];

type AnyClient = ClientV1 | ClientV2;

async function connectV1(url: string, overSse = false): Promise<ClientV1> {
  const client = new ClientV1(ABOUT);
  await client.connect(overSse ? new SSEClientTransport(new URL(url)) : new TransportV1(new URL(url)));
  onTestFinished(() => client.close());
  return client;
}

async function connectV2(url: string): Promise<ClientV2> {
  const client = new ClientV2(ABOUT, { versionNegotiation: { mode: "auto" } });
  await client.connect(new TransportV2(new URL(url)));
  onTestFinished(() => client.close());
  return client;
}

const CLIENTS = [
  ["v1", connectV1],
  ["v2", connectV2],
] as const;

/** The tenant in front, and what it writes before the server's names. */
async function throughGateways(url: string, { era, gateways }: Row): Promise<{ url: string; prefix: string }> {
  let at = { url, prefix: "" };
  for (let depth = 1; depth <= gateways; depth += 1) {
    const id = `g${depth}`;
    const made = await gatewayTenant(origin, admin, { [id]: { url: at.url, era: depth === 1 ? era : "auto" } });
    at = { url: made.url, prefix: `${id}__${at.prefix}` };
  }
  return at;
}

describe.each(ROWS)("$server behind $gateways gateways", (row) => {
  let sdk: SdkEverything | undefined;
  let there = CONFORMANCE;
  let here = { url: "", prefix: "" };
  const direct = () => connectV1(there, row.sdk === "http-sse");
  beforeAll(async () => {
    sdk = row.sdk && (await startSdkEverything(row.sdk));
    there = sdk?.url ?? CONFORMANCE;
    here = await throughGateways(there, row);
  });
  afterAll(() => sdk?.close());

  test.each(CLIENTS)("lists the same to the official %s client", async (_name, connect) => {
    const client: AnyClient = await connect(here.url);
    const server = await direct();
    const named = ({ name }: { name: string }) => `${here.prefix}${name}`;
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(
      (await server.listTools()).tools.map(named),
    );
    expect((await client.listPrompts()).prompts.map(({ name }) => name)).toEqual(
      (await server.listPrompts()).prompts.map(named),
    );
    expect((await client.listResources()).resources).toEqual((await server.listResources()).resources);
    expect((await client.listResourceTemplates()).resourceTemplates).toEqual(
      (await server.listResourceTemplates()).resourceTemplates,
    );
  });

  test.each(CLIENTS)("is called, read and completed by the official %s client", async (_name, connect) => {
    const client: AnyClient = await connect(here.url);
    const server = await direct();
    const ask = async (one: AnyClient, prefix: string) => {
      const name = `${prefix}test_prompt_with_arguments`;
      const argument = { name: "arg1", value: "teste" };
      return {
        called: (await one.callTool({ name: `${prefix}test_simple_text`, arguments: {} }))["content"],
        text: (await one.readResource({ uri: "test://static-text" })).contents,
        data: (await one.readResource({ uri: "test://template/7/data" })).contents,
        prompt: (await one.getPrompt({ name, arguments: { arg1: "a", arg2: "b" } })).messages,
        values: (await one.complete({ ref: { type: "ref/prompt", name }, argument })).completion.values,
      };
    };
    const answered = await ask(client, here.prefix);
    expect(answered).toEqual(await ask(server, ""));
    expect(answered.values).toEqual(["tested"]);
  });

  test.each(CLIENTS)("tells its progress to the official %s client", async (_name, connect) => {
    const client: AnyClient = await connect(here.url);
    const values: number[] = [];
    const onprogress = ({ progress }: { progress: number }) => void values.push(progress);
    const params = { name: `${here.prefix}test_tool_with_progress`, arguments: {} };
    if (client instanceof ClientV1) await client.callTool(params, undefined, { onprogress });
    else await client.callTool(params, { onprogress });
    expect(values).toEqual([0, 50, 100]);
  });

  // Without a session nobody remembers the level that a client of era 2025 asked for.
  test.runIf(row.sdk !== "stateless")("logs to a client that asked for it, at its level", async () => {
    const client = await connectV1(here.url);
    const messages: unknown[] = [];
    client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => void messages.push(params.level));
    const call = () => client.callTool({ name: `${here.prefix}test_tool_with_logging`, arguments: {} });
    await call();
    expect(messages).toEqual([]);
    await client.setLoggingLevel("error");
    await call();
    expect(messages).toEqual([]);
    await client.setLoggingLevel("debug");
    await call();
    expect(messages).toEqual(["info", "info", "info"]);
  });

  const hears = row.sdk === "sessions" || row.sdk === "http-sse";
  test.runIf(hears).each(CLIENTS)("hears that the official %s client has cancelled", async (_name, connect) => {
    const before = sdk?.cancelled() ?? 0;
    const client: AnyClient = await connect(here.url);
    const abort = new AbortController();
    const params = { name: `${here.prefix}test_wait`, arguments: {} };
    const { signal } = abort;
    const called =
      client instanceof ClientV1 ? client.callTool(params, undefined, { signal }) : client.callTool(params, { signal });
    const ended = expect(called).rejects.toThrow();
    setTimeout(() => abort.abort(), 1000);
    await ended;
    await expect.poll(() => sdk?.cancelled(), { timeout: 30_000 }).toBe(before + 1);
  });
});

// A server made with the official SDK v1 that offers one of everything, under the names of the conformance fixture:
// with sessions, without them, or over HTTP+SSE of 2024-11-05. Real HTTP on the loopback interface.

import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { completable } from "@modelcontextprotocol/sdk/server/completable.js";
import { McpServer, ResourceTemplate } from "@modelcontextprotocol/sdk/server/mcp.js";
import { SSEServerTransport } from "@modelcontextprotocol/sdk/server/sse.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { isInitializeRequest } from "@modelcontextprotocol/sdk/types.js";
import * as z from "zod";

export type SdkTransport = "sessions" | "stateless" | "http-sse";

export interface SdkEverything {
  readonly url: string;
  /** How many calls of `test_wait` heard that they were cancelled. */
  cancelled(): number;
  close(): void;
}

type Handle = (request: IncomingMessage, response: ServerResponse) => Promise<unknown>;

export async function startSdkEverything(transport: SdkTransport): Promise<SdkEverything> {
  let cancelled = 0;
  const make = () => everything(() => (cancelled += 1));
  const handle: Readonly<Record<SdkTransport, Handle>> = {
    sessions: inSessions(make),
    stateless: withoutSessions(make),
    "http-sse": overHttpSse(make),
  };
  const server = createServer((request, response) => void handle[transport](request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    cancelled: () => cancelled,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

function inSessions(make: () => McpServer): Handle {
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  return async (request, response) => {
    const body: unknown = request.method === "POST" ? await json(request) : undefined;
    const known = sessions.get(String(request.headers["mcp-session-id"]));
    if (known) return known.handleRequest(request, response, body);
    if (!isInitializeRequest(body)) return response.writeHead(404).end();
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void sessions.set(id, transport),
    });
    await make().connect(transport);
    return transport.handleRequest(request, response, body);
  };
}

function withoutSessions(make: () => McpServer): Handle {
  return async (request, response) => {
    if (request.method !== "POST") return response.writeHead(405).end();
    const transport = new StreamableHTTPServerTransport({});
    await make().connect(transport);
    return transport.handleRequest(request, response);
  };
}

function overHttpSse(make: () => McpServer): Handle {
  const sessions = new Map<string, SSEServerTransport>();
  return async (request, response) => {
    const id = new URL(request.url ?? "/", "http://x").searchParams.get("sessionId") ?? "";
    if (request.method === "POST")
      return sessions.get(id)?.handlePostMessage(request, response) ?? response.writeHead(405).end();
    const transport = new SSEServerTransport("/mcp", response);
    sessions.set(transport.sessionId, transport);
    return make().connect(transport);
  };
}

const textResult = (text: string) => ({ content: [{ type: "text" as const, text }] });

function everything(cancelled: () => void): McpServer {
  const server = new McpServer({ name: "everything", version: "1" }, { capabilities: { logging: {} } });
  server.registerTool("test_simple_text", { description: "Says something." }, async () => textResult("Something."));
  server.registerTool("test_tool_with_progress", {}, async ({ _meta, sendNotification }) => {
    const progressToken = _meta?.progressToken ?? 0;
    for (const progress of [0, 50, 100])
      await sendNotification({ method: "notifications/progress", params: { progressToken, progress, total: 100 } });
    return textResult("done");
  });
  server.registerTool("test_tool_with_logging", {}, async ({ sendNotification }) => {
    // With the call that it is about: `sendLoggingMessage` writes to a stream that stands open beside it.
    for (const data of ["one", "two", "three"])
      await sendNotification({ method: "notifications/message", params: { level: "info", data } });
    return textResult("logged");
  });
  server.registerTool("test_wait", {}, async ({ signal }) => {
    await Promise.race([once(signal, "abort").then(cancelled), new Promise((end) => setTimeout(end, 20_000))]);
    return textResult("waited");
  });
  server.registerResource("Static text", "test://static-text", {}, async ({ href }) => ({
    contents: [{ uri: href, text: "This never changes." }],
  }));
  const template = new ResourceTemplate("test://template/{id}/data", { list: undefined });
  server.registerResource("Data by id", template, {}, async ({ href }, { id }) => ({
    contents: [{ uri: href, text: `Data of ${String(id)}` }],
  }));
  const starts = (value: string) => ["test", "testing", "tested"].filter((word) => word.startsWith(value));
  const argsSchema = { arg1: completable(z.string(), starts), arg2: z.string() };
  server.registerPrompt("test_prompt_with_arguments", { argsSchema }, ({ arg1, arg2 }) => ({
    messages: [{ role: "user", content: { type: "text", text: `${arg1} ${arg2}` } }],
  }));
  return server;
}

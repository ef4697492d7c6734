// A server made with the official SDK v1 over HTTP+SSE, whose tools say and ask things while they work. It asks whatever its
// client has declared, as a server of another make would.

import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { SSEServerTransport } from "@modelcontextprotocol/sdk/server/sse.js";
import {
  CreateMessageResultSchema,
  ElicitResultSchema,
  EmptyResultSchema,
  ListRootsResultSchema,
  type ServerRequest,
} from "@modelcontextprotocol/sdk/types.js";
import { onTestFinished } from "vitest";
import * as z from "zod";
import type { Json } from "../support/mcp-client.ts";

export interface SseUpstream {
  readonly url: string;
  /** What came, in order: streams without a message. */
  readonly requests: readonly { readonly headers: IncomingHttpHeaders; readonly message?: Json }[];
  /** The capabilities of its clients, in order. */
  readonly declared: readonly unknown[];
  /** Resolves when the tool `wait` runs. */
  readonly waiting: Promise<unknown>;
  /** Resolves when the tool `wait` heard that it was cancelled. */
  readonly cancelled: Promise<unknown>;
}

/** The questions that the tool `ask` puts, by their names. */
const QUESTIONS = {
  elicitation: {
    method: "elicitation/create",
    params: { message: "Sure?", requestedSchema: { type: "object", properties: { yes: { type: "boolean" } } } },
  },
  sampling: {
    method: "sampling/createMessage",
    params: { messages: [{ role: "user", content: { type: "text", text: "Which colour?" } }], maxTokens: 5 },
  },
  roots: { method: "roots/list" },
  ping: { method: "ping" },
} as const satisfies Record<string, ServerRequest>;

const RESULTS = {
  elicitation: ElicitResultSchema,
  sampling: CreateMessageResultSchema,
  roots: ListRootsResultSchema,
  ping: EmptyResultSchema,
} as const;

/** How long a tool waits for the answer to a question. */
const ASKS_FOR_MS = 10_000;

/** Stops after the test. */
export async function startSseUpstream(): Promise<SseUpstream> {
  const requests: { headers: IncomingHttpHeaders; message?: Json }[] = [];
  const waiting = Promise.withResolvers<unknown>();
  const cancelled = Promise.withResolvers<unknown>();
  let isGrown = false;
  const make = () => {
    const server = new McpServer({ name: "sse", version: "1" }, { capabilities: { logging: {} } });
    addTools(server);
    server.registerTool("wait", {}, async ({ signal }) => {
      const aborted = once(signal, "abort");
      waiting.resolve(undefined);
      cancelled.resolve(await aborted);
      return textResult("waited");
    });
    const grow = () => server.registerTool("grown", {}, async () => textResult("grown"));
    if (isGrown) grow();
    // The SDK says `list_changed` when a tool is added.
    server.registerTool("grow", {}, async () => {
      isGrown = true;
      grow();
      return textResult("done");
    });
    return server;
  };
  const sessions = new Map<string, SSEServerTransport>();
  const server = createServer((request, response) => {
    void (async () => {
      const { headers } = request;
      const id = new URL(request.url ?? "/", "http://x").searchParams.get("sessionId") ?? "";
      if (request.method === "POST") {
        const message = (await json(request)) as Json;
        requests.push({ headers, message });
        return sessions.get(id)?.handlePostMessage(request, response, message) ?? response.writeHead(405).end();
      }
      requests.push({ headers });
      const transport = new SSEServerTransport("/mcp", response);
      sessions.set(transport.sessionId, transport);
      return make().connect(transport);
    })();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    requests,
    get declared() {
      const hellos = requests.filter(({ message }) => message?.["method"] === "initialize");
      return hellos.map(({ message }) => (message?.["params"] as Json | undefined)?.["capabilities"]);
    },
    waiting: waiting.promise,
    cancelled: cancelled.promise,
  };
}

const textResult = (text: string) => ({ content: [{ type: "text" as const, text }] });

function addTools(server: McpServer): void {
  server.registerTool("say", {}, async () => textResult("said"));
  server.registerTool("progress", {}, async ({ _meta, sendNotification }) => {
    const progressToken = _meta?.progressToken ?? 0;
    for (const progress of [1, 2, 3])
      await sendNotification({ method: "notifications/progress", params: { progressToken, progress, total: 3 } });
    return textResult("done");
  });
  server.registerTool("log", {}, async ({ sessionId }) => {
    for (const level of ["debug", "info", "error"] as const)
      await server.sendLoggingMessage({ level, data: `${level}!` }, sessionId);
    return textResult("logged");
  });
  const inputSchema = { what: z.enum(["elicitation", "sampling", "roots", "ping"]) };
  server.registerTool("ask", { inputSchema }, async ({ what }) => {
    const options = { timeout: ASKS_FOR_MS };
    const answer = await server.server.request(QUESTIONS[what], RESULTS[what], options);
    return textResult(JSON.stringify(answer));
  });
}

// A server made with the official SDK v1: sessions, streams that can be resumed, and tools that ask the client. Real
// HTTP on the loopback interface; gone when the test ends.

import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import {
  CreateMessageResultSchema,
  ElicitResultSchema,
  isInitializeRequest,
  type JSONRPCMessage,
  ListRootsResultSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { json } from "node:stream/consumers";
import { onTestFinished } from "vitest";

export class SdkServer {
  readonly sessions = new Map<string, StreamableHTTPServerTransport>();
  /** As the server heard of them. */
  readonly deleted: string[] = [];
  url = "";

  static async start(): Promise<SdkServer> {
    const sdk = new SdkServer();
    const server = createServer((request, response) => void sdk.#handle(request, response));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    sdk.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    return sdk;
  }

  /** As after a restart: whoever comes with a session is told 404. */
  forget(): void {
    this.sessions.clear();
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body: unknown = request.method === "POST" ? await json(request) : undefined;
    const id = request.headers["mcp-session-id"];
    if (typeof id !== "string") {
      if (!isInitializeRequest(body)) return void response.writeHead(400).end();
      return (await this.#newSession()).handleRequest(request, response, body);
    }
    const transport = this.sessions.get(id);
    if (!transport) return void response.writeHead(404).end();
    if (request.method === "DELETE") this.deleted.push(id);
    await transport.handleRequest(request, response, body);
  }

  async #newSession(): Promise<StreamableHTTPServerTransport> {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      eventStore: new Events(),
      retryInterval: 10,
      onsessioninitialized: (id) => void this.sessions.set(id, transport),
    });
    await toolServer().connect(transport);
    return transport;
  }
}

/** Event ids that count up, because the store of the SDK's examples sorts by chance within a millisecond. */
class Events {
  readonly #all: { stream: string; message: JSONRPCMessage }[] = [];

  async storeEvent(stream: string, message: JSONRPCMessage): Promise<string> {
    return String(this.#all.push({ stream, message }) - 1);
  }

  async replayEventsAfter(
    last: string,
    { send }: { send: (id: string, message: JSONRPCMessage) => Promise<void> },
  ): Promise<string> {
    const { stream = "" } = this.#all[Number(last)] ?? {};
    for (const [at, event] of this.#all.entries()) {
      const isPriming = Object.keys(event.message).length === 0;
      if (at > Number(last) && event.stream === stream && !isPriming) await send(String(at), event.message);
    }
    return stream;
  }
}

function toolServer(): McpServer {
  const server = new McpServer({ name: "sdk", version: "1" }, { capabilities: { logging: {} } });
  const textResult = (value: unknown) => ({ content: [{ type: "text" as const, text: JSON.stringify(value) }] });
  server.registerTool("progress", {}, async ({ _meta, sendNotification, sendRequest }) => {
    const progressToken = _meta?.progressToken ?? 0;
    for (const progress of [1, 2]) {
      await sendNotification({ method: "notifications/progress", params: { progressToken, progress, total: 2 } });
    }
    // Answered by the client when it has seen what came before.
    await sendRequest({ method: "roots/list" }, ListRootsResultSchema);
    return textResult("done");
  });
  server.registerTool("elicit", {}, async ({ sendRequest }) => {
    const requestedSchema = { type: "object" as const, properties: { sure: { type: "boolean" as const } } };
    const params = { message: "Sure?", requestedSchema };
    return textResult(await sendRequest({ method: "elicitation/create", params }, ElicitResultSchema));
  });
  server.registerTool("choose", {}, async ({ sendRequest }) => {
    const colour = { type: "string" as const, oneOf: [{ const: "r", title: "Red" }] };
    const sizes = { type: "array" as const, items: { type: "string" as const, enum: ["s", "l"] } };
    const requestedSchema = { type: "object" as const, properties: { colour, sizes } };
    const params = { message: "Which?", requestedSchema };
    return textResult(await sendRequest({ method: "elicitation/create", params }, ElicitResultSchema));
  });
  server.registerTool("hear", {}, async ({ sendRequest }) => {
    const content = { type: "audio" as const, data: "AAAA", mimeType: "audio/wav" };
    const params = { messages: [{ role: "user" as const, content }], maxTokens: 5 };
    return textResult(await sendRequest({ method: "sampling/createMessage", params }, CreateMessageResultSchema));
  });
  server.registerTool("sample", {}, async ({ sendRequest }) => {
    const messages = [{ role: "user" as const, content: { type: "text" as const, text: "2+2?" } }];
    const request = { method: "sampling/createMessage" as const, params: { messages, maxTokens: 5 } };
    return textResult(await sendRequest(request, CreateMessageResultSchema));
  });
  server.registerTool("roots", {}, async ({ sendRequest }) => {
    return textResult(await sendRequest({ method: "roots/list" }, ListRootsResultSchema));
  });
  // Lets the client go and answers while nobody listens, as the SDK does for what takes long.
  server.registerTool("poll", {}, async ({ closeSSEStream }) => {
    closeSSEStream?.();
    return textResult("polled");
  });
  server.registerTool("announce", {}, async () => {
    server.sendToolListChanged();
    return textResult("announced");
  });
  return server;
}

// An MCP server of a few lines that speaks both eras and keeps no sessions: tools by name, as a test writes them. Real
// HTTP on the loopback interface.

import type { IncomingHttpHeaders } from "node:http";
import { text } from "node:stream/consumers";
import { startLocalServer } from "./local-server.ts";
import type { Json } from "./mcp-client.ts";

export interface ReceivedRequest {
  readonly headers: IncomingHttpHeaders;
  readonly message: Json;
  /** The body as it came. */
  readonly body: string;
}

/** The result, or an error as `{ error }`; "silence" is no answer at all. */
export type UpstreamTool = (params: Json) => Json | "silence";

export interface Upstream {
  readonly url: string;
  readonly requests: readonly ReceivedRequest[];
  close(): void;
}

const SERVER = { name: "plain", version: "1" };

/** `annotations`: of each tool. */
export async function startUpstream(
  tools: Readonly<Record<string, UpstreamTool>>,
  annotations: Readonly<Record<string, Json>> = {},
  prompts: Readonly<Record<string, UpstreamTool>> = {},
): Promise<Upstream> {
  const named = Object.keys(prompts).map((name) => ({ name }));
  const about = { capabilities: { tools: {}, ...(named.length > 0 && { prompts: {} }) }, instructions: "Plain." };
  const requests: ReceivedRequest[] = [];
  const listed = Object.keys(tools).map((name) => ({
    name,
    inputSchema: { type: "object" },
    ...(annotations[name] && { annotations: annotations[name] }),
  }));
  const answers: Readonly<Record<string, (params: Json) => Json | "silence">> = {
    "server/discover": () => ({ supportedVersions: ["2026-07-28"], ...about, ttlMs: 60_000, cacheScope: "public" }),
    initialize: () => ({ protocolVersion: "2025-11-25", serverInfo: SERVER, ...about }),
    "tools/list": () => ({ tools: listed, ttlMs: 60_000, cacheScope: "public" }),
    "prompts/list": () => ({ prompts: named, ttlMs: 60_000, cacheScope: "public" }),
    "prompts/get": (params) =>
      prompts[String(params["name"])]?.(params) ?? { error: { code: -32602, message: "Unknown" } },
    "tools/call": (params) =>
      tools[String(params["name"])]?.(params) ?? { error: { code: -32602, message: "Unknown" } },
    ping: () => ({}),
  };
  const { origin, stop } = await startLocalServer((request, response) => {
    void (async () => {
      const body = await text(request);
      const message = (body === "" ? {} : JSON.parse(body)) as Json;
      requests.push({ headers: request.headers, message, body });
      if (message["id"] === undefined) return void response.writeHead(request.method === "POST" ? 202 : 405).end();
      const answer = answers[String(message["method"])]?.((message["params"] ?? {}) as Json);
      if (answer === "silence") return;
      const found = answer ?? { error: { code: -32601, message: "Method not found" } };
      const is2026 = request.headers["mcp-protocol-version"] === "2026-07-28";
      const stamp = is2026 ? { resultType: "complete", _meta: { "io.modelcontextprotocol/serverInfo": SERVER } } : {};
      const answered = "error" in found ? found : { result: { ...stamp, ...found } };
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ jsonrpc: "2.0", id: message["id"], ...answered }));
    })();
  });
  return { url: `${origin}/mcp`, requests, close: stop };
}

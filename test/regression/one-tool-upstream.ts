// A server of one tool, `go`, in either era, whose calls a test answers as it likes. Of era 2025 it keeps sessions: a request
// in one that it does not know is answered 404.

import { post, type Reply } from "../support/mcp-client.ts";
import { ScriptedServer, type Exchange, type Json } from "../support/scripted-server.ts";

export interface OneTool {
  /** Beside `tools`. */
  readonly capabilities?: Json;
  readonly annotations?: Json;
  /** What is not a call of the tool, and not what any server answers; false: the usual answer is given. */
  readonly first?: (exchange: Exchange) => boolean;
  /** In a session that is not known; absent: 404. */
  readonly forgotten?: (exchange: Exchange) => void;
}

export class OneToolUpstream {
  readonly endpoint: ScriptedServer;
  readonly era: "2025" | "2026";
  /** Those that are known. */
  readonly sessions = new Set<string>();
  readonly #call: (exchange: Exchange) => void;
  readonly #about: OneTool;
  #begun = 0;

  private constructor(era: "2025" | "2026", endpoint: ScriptedServer, call: (one: Exchange) => void, about: OneTool) {
    this.era = era;
    this.endpoint = endpoint;
    this.#call = call;
    this.#about = about;
    endpoint.script = (exchange) => this.#answer(exchange);
  }

  static async start(
    era: "2025" | "2026",
    call: (exchange: Exchange) => void,
    about: OneTool = {},
  ): Promise<OneToolUpstream> {
    return new OneToolUpstream(era, await ScriptedServer.start(), call, about);
  }

  /** As an upstream of a tenant's document. */
  get entry(): Json {
    return { url: this.endpoint.url, era: this.era };
  }

  /** Calls of the tool, in order. */
  get calls(): readonly Exchange[] {
    return this.endpoint.exchanges.filter(({ name }) => name === "tools/call");
  }

  #answer(exchange: Exchange): void {
    if (this.#about.first?.(exchange)) return;
    const { name } = exchange;
    const capabilities = { tools: { listChanged: true }, ...this.#about.capabilities };
    const cached = this.era === "2026" ? { resultType: "complete", ttlMs: 600_000, cacheScope: "public" } : {};
    const serverInfo = { name: "one-tool", version: "1" };
    if (name === "server/discover" && this.era === "2026") {
      const _meta = { "io.modelcontextprotocol/serverInfo": serverInfo };
      return exchange.result({ ...cached, _meta, supportedVersions: ["2026-07-28"], capabilities });
    }
    if (name === "initialize" && this.era === "2025") {
      const session = `session-${(this.#begun += 1)}`;
      this.sessions.add(session);
      const hello = { protocolVersion: "2025-11-25", capabilities, serverInfo };
      return exchange.result(hello, { "mcp-session-id": session });
    }
    if (this.era === "2025" && !this.sessions.has(String(exchange.headers["mcp-session-id"]))) {
      const { forgotten = (one) => one.refuse(404) } = this.#about;
      return forgotten(exchange);
    }
    if (name === "tools/call") return this.#call(exchange);
    if (name === "GET") return exchange.refuse(405);
    if (name === "DELETE") return exchange.refuse(204);
    if (exchange.message["id"] === undefined || name === "response") return exchange.refuse(202);
    const { annotations } = this.#about;
    const go = { name: "go", inputSchema: { type: "object" }, ...(annotations && { annotations }) };
    if (name === "tools/list") return exchange.result({ tools: [go], ...cached });
    if (name === "ping" || name === "logging/setLevel") return exchange.result({});
    exchange.error(-32601, "Method not found");
  }
}

/** The result of a call, of the era that its upstream speaks. */
export function textResult(exchange: Exchange, text: string): Json {
  const is2026 = exchange.headers["mcp-protocol-version"] === "2026-07-28";
  return { ...(is2026 && { resultType: "complete" }), content: [{ type: "text", text }] };
}

const metaOf2026 = (capabilities: Json): Json => ({
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": capabilities,
});

interface EnvelopeCall {
  /** Of a client of era 2026; absent: a message without anything about its client. */
  readonly capabilities?: Json;
  readonly method?: string;
  readonly params?: Json;
}

/** A message to the upstream `up` in an envelope; a call of `go` unless it says otherwise. */
export function callInEnvelope(origin: string, tenant: string, request: EnvelopeCall = {}): Promise<Reply> {
  const { capabilities, method = "tools/call", params = { name: "go", arguments: {} } } = request;
  const named = typeof params["name"] === "string" ? { "mcp-name": params["name"] } : {};
  const is2026 = capabilities !== undefined;
  const headers = is2026 ? { "mcp-protocol-version": "2026-07-28", "mcp-method": method, ...named } : {};
  const sent = is2026 ? { ...params, _meta: metaOf2026(capabilities) } : params;
  const body = { server_id: "up", jsonrpc: "2.0", id: 1, method, params: sent };
  return post(`${origin}/gateway/${tenant}`, body, { headers });
}

// One request to an odd server, what a server that works would answer, and the ways to answer otherwise.

import type { Json } from "../../support/mcp-client.ts";
import type { Exchange } from "../../support/scripted-server.ts";

/** What a server is apart from its oddity. */
export interface Manner {
  /** Of the upstream, of the path of the server, and the scheme of its URIs. */
  readonly id: string;
  /** It serves 2026-07-28 beside 2025-11-25. */
  readonly speaksBoth?: true;
  /** It keeps no sessions. */
  readonly isStateless?: true;
}

/** Answers what it wants to be odd; `asked.asUsual()` does the rest. */
export type Oddity = (request: OddRequest) => void;

const SERVER = { name: "odd", version: "1" };
const CAPABILITIES = { tools: {}, prompts: {}, resources: {} };
const CACHED = { ttlMs: 60_000, cacheScope: "public" };
const UNCACHED = new Set(["tools/call", "prompts/get"]);
export const EVENTS = "text/event-stream";

export interface How {
  readonly status?: number;
  /** null: none. */
  readonly type?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
}

export class OddRequest {
  readonly exchange: Exchange;
  /** What a server that works answers; undefined: it accepts, or refuses, without a message. */
  readonly usual: Json | undefined;
  /** Of the row's server: a session begins with `initialize`. */
  readonly session: Readonly<Record<string, string>>;
  /** Of the row, from its first request on. */
  readonly state: Json;

  constructor(exchange: Exchange, manner: Manner, { sessions, state }: Memory) {
    this.exchange = exchange;
    this.state = state;
    const isBeginning = exchange.name === "initialize" && manner.isStateless !== true;
    this.session = isBeginning ? { "mcp-session-id": `s${sessions.size + 1}-${manner.id}` } : {};
    for (const id of Object.values(this.session)) sessions.add(id);
    this.usual = usualAnswer(exchange, manner, sessions);
  }

  get name(): string {
    return this.exchange.name;
  }

  get id(): unknown {
    return this.exchange.message["id"];
  }

  /** JSON unless `type` says otherwise. */
  send(body: string | Uint8Array, { status = 200, type = "application/json", headers = {} }: How = {}): void {
    const own = type === null ? {} : { "content-type": type };
    this.exchange.send(body, status, Object.entries({ ...own, ...this.session, ...headers }));
  }

  json(message: unknown, how: How = {}): void {
    this.send(JSON.stringify(message), how);
  }

  /** A stream of these texts, as they stand. */
  stream(...texts: readonly (string | Uint8Array)[]): Exchange {
    this.exchange.stream(this.session);
    for (const one of texts) this.exchange.raw(one);
    return this.exchange;
  }

  error(code: number, message: string, how: How & { readonly id?: unknown } = {}): void {
    const { id = this.id, ...rest } = how;
    this.json({ jsonrpc: "2.0", id, error: { code, message } }, rest);
  }

  result(result: unknown): void {
    this.json({ jsonrpc: "2.0", id: this.id, result });
  }

  asUsual(): void {
    if (this.usual !== undefined) return this.json(this.usual);
    if (this.exchange.verb !== "POST") return this.exchange.refuse(this.exchange.verb === "DELETE" ? 204 : 405);
    if (this.name === "response" || this.name.startsWith("notifications/")) return this.exchange.refuse(202);
    const isWithout = this.exchange.headers["mcp-session-id"] === undefined;
    if (isWithout) this.error(-32000, "Bad Request: Mcp-Session-Id is missing", { status: 400, id: null });
    else this.error(-32001, "Session not found", { status: 404 });
  }
}

export const event = (message: unknown): string => `event: message\ndata: ${JSON.stringify(message)}\n\n`;

/** Only these requests are odd. */
export const at =
  (names: readonly string[], odd: Oddity): Oddity =>
  (request) =>
    names.includes(request.name) ? odd(request) : request.asUsual();

export const onCall = (odd: Oddity): Oddity => at(["tools/call"], odd);

export const onInitialize = (change: Json): Oddity =>
  at(["initialize"], (request) => request.result({ ...resultIn(request), ...change }));

/** Whatever has an answer. */
export const everywhere =
  (odd: (request: OddRequest, usual: Json) => void): Oddity =>
  (request) =>
    request.usual === undefined ? request.asUsual() : odd(request, request.usual);

export function resultIn({ usual }: OddRequest): Json {
  return (usual?.["result"] ?? {}) as Json;
}

/** Of one server. */
export interface Memory {
  readonly sessions: Set<string>;
  readonly state: Json;
}

/** undefined: nothing is to be answered, or there is no such session. */
function usualAnswer(exchange: Exchange, manner: Manner, sessions: ReadonlySet<string>): Json | undefined {
  const id = exchange.message["id"];
  if (exchange.verb !== "POST" || id === undefined || exchange.method === "") return undefined;
  const is2026 = exchange.headers["mcp-protocol-version"] === "2026-07-28" && manner.speaksBoth === true;
  const isFree = is2026 || manner.isStateless === true || ["initialize", "server/discover"].includes(exchange.name);
  if (!isFree && !sessions.has(String(exchange.headers["mcp-session-id"]))) return undefined;
  const result = usualResult(exchange, manner);
  if (!result) return { jsonrpc: "2.0", id, error: { code: -32601, message: "Method not found" } };
  const stamp = { resultType: "complete", _meta: { "io.modelcontextprotocol/serverInfo": SERVER } };
  const cached = UNCACHED.has(exchange.name) ? {} : CACHED;
  return { jsonrpc: "2.0", id, result: is2026 ? { ...stamp, ...cached, ...result } : result };
}

function usualResult({ name }: Exchange, manner: Manner): Json | undefined {
  const results: Record<string, Json> = {
    initialize: { protocolVersion: "2025-11-25", capabilities: CAPABILITIES, serverInfo: SERVER },
    ping: {},
    "tools/list": { tools: [{ name: "go", inputSchema: { type: "object" } }] },
    "prompts/list": { prompts: [{ name: "hello" }] },
    "resources/list": { resources: [{ name: "note", uri: `${manner.id}://note` }] },
    "resources/templates/list": {
      resourceTemplates: [{ name: "notes", uriTemplate: `${manner.id}://notes/{n}` }],
    },
    "tools/call": { content: [{ type: "text", text: "went" }] },
    "prompts/get": { messages: [{ role: "user", content: { type: "text", text: "went" } }] },
    "resources/read": { contents: [{ uri: `${manner.id}://note`, text: "went" }] },
  };
  if (manner.speaksBoth) {
    results["server/discover"] = { supportedVersions: ["2026-07-28"], capabilities: CAPABILITIES };
  }
  return results[name];
}

// The upstreams of the attacker: one web server with an MCP server at each path, which speaks both eras, answers as it
// was told, and keeps what it heard.

import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type { Json, Revision } from "../target.ts";

export interface UpstreamRequest {
  readonly verb: string;
  readonly method: string;
  readonly id: unknown;
  readonly params: Json;
  readonly headers: IncomingHttpHeaders;
  readonly response: ServerResponse;
}

/** A result; a number is a status without a body; undefined: it has answered by itself, or never will. */
export type Answer = (request: UpstreamRequest) => Json | number | undefined;

/** By method; `*` is asked first, and leaves to the others what it says "go on" to. */
export type Behaviour = Readonly<Record<string, Answer>>;

export const GO = { name: "go", inputSchema: { type: "object" } } as const;
export const OK = { name: "ok", inputSchema: { type: "object" } } as const;
export const textResult = (words: string): Json => ({ content: [{ type: "text", text: words }] });

const SERVER = { name: "hostile", version: "1" };
const ABOUT = { capabilities: { tools: {}, prompts: {}, resources: {}, completions: {}, logging: {} } };
const PLAIN: Behaviour = {
  "server/discover": () => ({ supportedVersions: ["2026-07-28"], ...ABOUT, ttlMs: 3_600_000, cacheScope: "public" }),
  initialize: () => ({ protocolVersion: "2025-11-25", serverInfo: SERVER, ...ABOUT }),
  "tools/list": () => ({ tools: [GO] }),
  "prompts/list": () => ({ prompts: [] }),
  "resources/list": () => ({ resources: [] }),
  "resources/templates/list": () => ({ resourceTemplates: [] }),
  "tools/call": () => textResult("went"),
  ping: () => ({}),
};

export class HostileUpstreams {
  readonly #behaviours = new Map<string, Behaviour>();
  readonly #heard: { readonly path: string; readonly method: string; readonly params: Json }[] = [];
  readonly #server: Server;
  #made = 0;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(): Promise<HostileUpstreams> {
    const server = createServer({ maxHeaderSize: 64 * 1024 });
    const upstreams = new HostileUpstreams(server);
    server.on("request", (request, response) => {
      response.on("error", () => {});
      void text(request)
        .then((body) => {
          const message = (body.startsWith("{") ? JSON.parse(body) : {}) as Json;
          const { method = "", id, params = {} } = message as { method?: string; id?: unknown; params?: Json };
          const asked = { verb: request.method ?? "", method, id, params, headers: request.headers, response };
          upstreams.#answer((request.url ?? "").split("?")[0] ?? "", asked);
        })
        .catch(() => response.destroy());
    });
    await new Promise<void>((resolve) => {
      server.listen(0, "127.0.0.1", resolve);
    });
    return upstreams;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The URL at which this one is. */
  at(behaviour: Behaviour = {}): string {
    this.#made += 1;
    const path = `/up-${this.#made}`;
    this.#behaviours.set(path, behaviour);
    return `${this.origin}${path}`;
  }

  /** How often a method came to the upstream at this URL. */
  heard(url: string, method = "tools/call"): number {
    const { pathname } = new URL(url);
    return this.#heard.filter((one) => one.path === pathname && one.method === method).length;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #answer(path: string, request: UpstreamRequest): void {
    const behaviour = this.#behaviours.get(path);
    if (!behaviour) return void request.response.writeHead(404).end();
    this.#heard.push({ path, method: request.method, params: request.params });
    const everything = behaviour["*"];
    if (everything) {
      const found = everything(request);
      if (found !== GO_ON) return reply(request, found);
    }
    if (request.verb === "DELETE") return void request.response.writeHead(204).end();
    if (request.verb !== "POST") return void request.response.writeHead(405).end();
    if (request.id === undefined) return void request.response.writeHead(202).end();
    const answer = behaviour[request.method] ?? PLAIN[request.method];
    reply(request, answer ? answer(request) : 404);
  }
}

/** Of a `*`: what comes is for the others. */
export const GO_ON: Json = {};

function reply(request: UpstreamRequest, found: Json | number | undefined): void {
  if (found === undefined) return;
  if (typeof found === "number") return void request.response.writeHead(found).end();
  request.response.setHeader("content-type", "application/json").end(messageOf(request, found));
}

/** The message that answers, as text. `{ error }` is an error. */
export function messageOf({ id, headers }: UpstreamRequest, found: Json): string {
  if ("error" in found) return JSON.stringify({ jsonrpc: "2.0", id, ...found });
  const is2026 = headers["mcp-protocol-version"] === "2026-07-28";
  const stamp = is2026 ? { resultType: "complete", ttlMs: 3_600_000, cacheScope: "public" } : {};
  return JSON.stringify({ jsonrpc: "2.0", id, result: { ...stamp, ...found } });
}

export const eventOf = (data: string) => `data: ${data}\n\n`;

/** Says this over and over, until nobody listens. */
export function endlessly(response: ServerResponse, type: string, chunk: string, everyMs = 0): undefined {
  response.writeHead(200, { "content-type": type });
  if (everyMs > 0) {
    const drops = setInterval(() => response.write(chunk), everyMs);
    response.once("close", () => clearInterval(drops));
    return undefined;
  }
  const more = () => {
    while (!response.destroyed && response.write(chunk));
  };
  response.on("drain", more);
  more();
  return undefined;
}

export const eraOf = (revision: Revision) => (revision === "2026-07-28" ? "2026" : "2025");

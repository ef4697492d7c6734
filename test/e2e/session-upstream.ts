// An MCP server of era 2025 that keeps sessions, and says how many it was asked for, by whom they were used, and which
// were ended. Real HTTP on the loopback interface.

import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type { Json } from "../support/mcp-client.ts";

const TOOLS = [
  { name: "read", inputSchema: { type: "object" }, annotations: { readOnlyHint: true } },
  { name: "write", inputSchema: { type: "object" } },
];

export class SessionUpstream {
  /** Sessions that somebody called a tool in, each with the `who` of its calls; those of who reads lists are not here. */
  readonly used = new Map<string, Set<string>>();
  /** The ids of the requests in each. */
  readonly ids = new Map<string, unknown[]>();
  /** As the server heard of them, with the header by which it knows the caller. */
  readonly ended = new Map<string, string | undefined>();
  /** How long `initialize` takes. */
  slowMs = 0;
  url = "";
  #known = new Set<string>();
  readonly #server = createServer((request, response) => void this.#answer(request, response));

  async start(): Promise<this> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/mcp`;
    return this;
  }

  /** As after a restart: whoever comes with a session is told 404. */
  forget(): void {
    this.#known = new Set();
  }

  /** Sessions in which a tool was called and that nobody has ended. */
  get open(): readonly string[] {
    return [...this.used.keys()].filter((id) => !this.ended.has(id));
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const session = String(request.headers["mcp-session-id"] ?? "");
    const body = await text(request);
    const { id, method, params = {} } = (body === "" ? {} : JSON.parse(body)) as Json & { params?: Json };
    if (method !== "initialize" && !this.#known.has(session)) return void response.writeHead(404).end();
    if (request.method === "DELETE") {
      this.#known.delete(session);
      this.ended.set(session, credentialOf(request));
      return void response.writeHead(204).end();
    }
    if (request.method !== "POST") return void response.writeHead(405).end();
    if (id === undefined) return void response.writeHead(202).end();
    if (method === "initialize") await this.#begin(response);
    else this.ids.set(session, [...(this.ids.get(session) ?? []), id]);
    const result = this.#result(String(method), session, params);
    response.setHeader("content-type", "application/json");
    const answer = result ? { result } : { error: { code: -32601, message: "Method not found" } };
    response.end(JSON.stringify({ jsonrpc: "2.0", id, ...answer }));
  }

  async #begin(response: ServerResponse): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, this.slowMs));
    const begun = randomUUID();
    this.#known.add(begun);
    response.setHeader("mcp-session-id", begun);
  }

  #result(method: string, session: string, params: Json): Json | undefined {
    const about = { capabilities: { tools: {} }, serverInfo: { name: "s", version: "1" } };
    if (method === "initialize") return { protocolVersion: "2025-11-25", ...about };
    if (method === "tools/list") return { tools: TOOLS };
    if (method !== "tools/call") return undefined;
    const { who = "" } = (params["arguments"] ?? {}) as { who?: string };
    this.used.set(session, (this.used.get(session) ?? new Set()).add(who));
    return { content: [{ type: "text", text: session }] };
  }
}

function credentialOf({ headers }: IncomingMessage): string | undefined {
  return (headers["x-token"] as string | undefined) ?? headers.authorization;
}

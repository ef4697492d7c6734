// An MCP endpoint that does what a test tells it, over real HTTP: answers, streams, broken connections. What it gets it
// keeps; what a test does not answer stays open until the test ends.

import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";

export type Json = Record<string, unknown>;

export class Exchange {
  readonly verb: string;
  /** With its query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** Empty where no body came. */
  readonly message: Json;
  readonly body: string;
  /** The other side is gone. */
  readonly closed: Promise<unknown>;
  readonly #response: ServerResponse;
  /** Of the other side: the same for all that comes on one connection. */
  readonly port: number | undefined;

  constructor(request: IncomingMessage, body: string, response: ServerResponse) {
    this.verb = request.method ?? "";
    this.path = request.url ?? "";
    this.headers = request.headers;
    this.body = body;
    this.message = body === "" ? {} : (JSON.parse(body) as Json);
    this.#response = response;
    this.port = response.socket?.remotePort;
    this.closed = once(response, "close");
  }

  get method(): string {
    return typeof this.message["method"] === "string" ? this.message["method"] : "";
  }

  /** `initialize`, `response`, `GET`. */
  get name(): string {
    if (this.verb !== "POST") return this.verb;
    return this.method === "" ? "response" : this.method;
  }

  result(result: Json, headers: Record<string, string> = {}): void {
    this.json({ jsonrpc: "2.0", id: this.message["id"], result }, 200, headers);
  }

  error(code: number, message: string, status = 200): void {
    this.json({ jsonrpc: "2.0", id: this.message["id"], error: { code, message } }, status);
  }

  json(body: Json | string, status = 200, headers: Record<string, string> = {}): void {
    this.#response.writeHead(status, { "content-type": "application/json", ...headers });
    this.#response.end(typeof body === "string" ? body : JSON.stringify(body));
  }

  /** `headers`: pairs, so that one may stand there twice. */
  send(body: string | Uint8Array, status: number, headers: readonly (readonly [string, string])[]): void {
    this.#response.writeHead(status, headers.flat());
    this.#response.end(body);
  }

  refuse(status: number, headers: Record<string, string> = {}): void {
    this.#response.writeHead(status, headers).end();
  }

  stream(headers: Record<string, string> = {}): this {
    return this.open(200, { "content-type": "text/event-stream", ...headers });
  }

  /** The body follows. */
  open(status: number, headers: Record<string, string>): this {
    this.#response.writeHead(status, headers);
    this.#response.flushHeaders();
    return this;
  }

  event(message: Json | "", id?: string): this {
    const data = message === "" ? "" : JSON.stringify(message);
    return this.raw(`${id === undefined ? "" : `id: ${id}\n`}data: ${data}\n\n`);
  }

  raw(chunk: string | Uint8Array): this {
    this.#response.write(chunk);
    return this;
  }

  /** Bytes on the connection itself, such as half of a head. */
  wire(chunk: string): this {
    this.#response.socket?.write(chunk);
    return this;
  }

  end(): void {
    this.#response.end();
  }

  /** The other side is reset, in the middle of whatever it is reading. */
  reset(): void {
    this.#response.socket?.resetAndDestroy();
  }

  /** As a cable that is pulled, after what was written has gone through it. */
  drop(): void {
    if (this.#response.headersSent) this.#response.write(":\n", () => this.#response.destroy());
    else this.#response.destroy();
  }
}

export class ScriptedServer {
  readonly exchanges: Exchange[] = [];
  /** Answers what it wants to; the rest waits for `next`. */
  script: (exchange: Exchange) => void = () => {};
  url = "";
  #waiting: (() => void)[] = [];
  #taken = new Set<Exchange>();
  readonly #server = createServer((request, response) => {
    void (async () => {
      const exchange = new Exchange(request, await text(request), response);
      this.exchanges.push(exchange);
      this.script(exchange);
      for (const wake of this.#waiting.splice(0)) wake();
    })();
  });

  static async start(script?: (exchange: Exchange) => void): Promise<ScriptedServer> {
    const endpoint = new ScriptedServer();
    if (script) endpoint.script = script;
    await endpoint.listen(0);
    onTestFinished(() => endpoint.stop());
    return endpoint;
  }

  async listen(port: number): Promise<void> {
    this.#server.listen(port, "127.0.0.1");
    await once(this.#server, "listening");
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/mcp/acme`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    if (!this.#server.listening) return;
    this.#server.close();
    await once(this.#server, "close");
  }

  /** The first exchange of this name that was not taken yet. */
  async next(name: string): Promise<Exchange> {
    for (;;) {
      const found = this.exchanges.find((one) => one.name === name && !this.#taken.has(one));
      if (found) {
        this.#taken.add(found);
        return found;
      }
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  get names(): string[] {
    return this.exchanges.map(({ name }) => name);
  }
}

/** What a plain 2025 server does with the beginning of a session. */
export function sessionScript(id: string, rest: (exchange: Exchange) => void = () => {}, capabilities: Json = {}) {
  return (exchange: Exchange): void => {
    const serverInfo = { name: "scripted", version: "1" };
    const hello = { protocolVersion: "2025-11-25", capabilities, serverInfo };
    if (exchange.name === "initialize") exchange.result(hello, { "mcp-session-id": id });
    else if (exchange.name === "notifications/initialized") exchange.refuse(202);
    else if (exchange.name === "DELETE") exchange.refuse(204);
    else rest(exchange);
  };
}

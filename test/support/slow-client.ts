// A client that is as slow as a test wants: it sends a request as far as it is told, and reads of the answer only what
// it is told.

import { connect, type Socket } from "node:net";

export interface SlowRequest {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** What the headers say of the body's size; the body's own when absent, null: nothing, and it is sent in chunks. */
  readonly declared?: number | null;
}

export class SlowClient {
  readonly #socket: Socket;
  /** What was read of the answer. */
  text = "";
  readonly closed: Promise<void>;

  constructor(url: string, { method = "POST", headers = {}, body = "", declared }: SlowRequest = {}) {
    const { hostname, port, pathname, search } = new URL(url);
    this.#socket = connect(Number(port), hostname);
    this.#socket.on("error", () => {});
    this.closed = new Promise<void>((resolve) => this.#socket.once("close", () => resolve()));
    const bytes = Buffer.from(body);
    const framing =
      declared === null
        ? { "transfer-encoding": "chunked" }
        : { "content-length": String(declared ?? bytes.byteLength) };
    const all = Object.entries({ host: "localhost", ...(method === "GET" ? {} : framing), ...headers });
    const head = all.map(([name, value]) => `${name}: ${value}\r\n`).join("");
    this.#socket.write(`${method} ${pathname}${search} HTTP/1.1\r\n${head}\r\n`);
    // An empty chunk would be the end.
    if (bytes.byteLength === 0) return;
    if (declared === null) this.chunk(bytes);
    else this.#socket.write(bytes);
  }

  chunk(bytes: Uint8Array): void {
    this.#socket.write(`${bytes.byteLength.toString(16)}\r\n`);
    this.#socket.write(bytes);
    this.#socket.write("\r\n");
  }

  more(bytes: Uint8Array | string): void {
    this.#socket.write(bytes);
  }

  /** Reads on from now; until then nothing is read beyond what the connection itself takes in. */
  listen(): this {
    this.#socket.setEncoding("utf8");
    this.#socket.on("data", (part: string) => (this.text += part));
    return this;
  }

  /** Reads no more. */
  pause(): void {
    this.#socket.pause();
  }

  get isOver(): boolean {
    return this.#socket.closed;
  }

  /** Reads until the connection ends, as the Worker ends it that did not take in all of a body. */
  async untilClosed(): Promise<string> {
    this.listen();
    await this.closed;
    return this.text;
  }

  /** Reads until this was said. */
  async until(part: string | RegExp): Promise<string> {
    this.listen();
    while (this.text.search(part) < 0 && !this.#socket.closed) {
      await Promise.race([new Promise<void>((resolve) => this.#socket.once("data", () => resolve())), this.closed]);
    }
    return this.text;
  }

  leave(): void {
    this.#socket.destroy();
  }
}

/** The status of an answer as it came over the connection. */
export function statusIn(text: string): number {
  return Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1]);
}

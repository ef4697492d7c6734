// A Worker that is killed again and again and comes back at the same port over the same storage, each time of the other
// release, and what its operator asks of it.

import { createServer } from "node:http";
import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import type { Json } from "../../support/mcp-client.ts";
import { bundleWorker } from "../../support/start-worker.ts";
import { type Edge, startEdge } from "./edge.ts";
import { ADMIN_TOKEN, startAlone, type Release } from "../two-releases.ts";

/** Below those that the system gives to clients: one that tries to connect to its own port while nobody listens may succeed. */
const PORTS = { from: 20_000, count: 10_000 };
const ANSWERS_WITHIN_MS = 60_000;

/** `status` 0: no answer came, and nobody knows what came of it. */
export interface Answered {
  readonly status: number;
  readonly text: string;
}

export class RestartingWorker {
  readonly origin: string;
  /** The same, where nobody is refused while no process listens. */
  edge = "";
  readonly #storage: string;
  readonly #port: number;
  #edge: Edge | undefined;
  #running: Awaited<ReturnType<typeof startAlone>> | undefined;
  release: Release = "this";

  private constructor(storage: string, port: number) {
    this.#storage = storage;
    this.#port = port;
    this.origin = `http://127.0.0.1:${port}`;
  }

  static async begin(storage: string): Promise<RestartingWorker> {
    // What takes long is done before anybody waits for it.
    for (const entry of ["worker", "next-release-worker"]) await bundleWorker(entry);
    const worker = new RestartingWorker(storage, await lowPort());
    worker.#edge = await startEdge(worker.#port);
    worker.edge = worker.#edge.origin;
    await worker.start("this");
    return worker;
  }

  /** Resolves to when it answered first. */
  async start(release: Release): Promise<number> {
    this.release = release;
    this.#running = await startAlone(release, { storage: this.#storage, port: this.#port });
    const until = Date.now() + ANSWERS_WITHIN_MS;
    for (;;) {
      const { status } = await this.#send("/healthz", {});
      if (status === 200) return Date.now();
      if (Date.now() > until) throw new Error(`${release} release does not answer: ${status}`);
      await pause(10);
    }
  }

  async kill(): Promise<void> {
    const running = this.#running;
    this.#running = undefined;
    await running?.kill();
  }

  async end(): Promise<void> {
    this.#edge?.stop();
    await this.kill();
  }

  async #send(path: string, init: RequestInit): Promise<Answered> {
    try {
      const response = await fetch(`${this.origin}${path}`, init);
      return { status: response.status, text: await response.text() };
    } catch (error) {
      return { status: 0, text: String(error) };
    }
  }

  /** Asks the admin API as root, once. `plain`: a text that is sent as it stands. Never rejects. */
  ask(
    method: string,
    path: string,
    { json, plain }: { readonly json?: unknown; readonly plain?: string } = {},
  ): Promise<Answered> {
    const body = plain ?? (json === undefined ? undefined : JSON.stringify(json));
    const headers: Record<string, string> = { authorization: `Bearer ${ADMIN_TOKEN}` };
    if (body !== undefined) headers["content-type"] = plain === undefined ? "application/json" : "text/plain";
    return this.#send(`/admin/v1${path}`, { method, headers, ...(body === undefined ? {} : { body }) });
  }

  /** The same while it runs: for what nobody kills. */
  async insist(method: string, path: string, asked: { readonly json?: unknown; readonly plain?: string } = {}) {
    const { status, text } = await this.ask(method, path, asked);
    if (status < 200 || status >= 300) throw new Error(`${method} ${path} was answered ${status}: ${text}`);
    return text;
  }

  async json(method: string, path: string, body?: unknown): Promise<Json> {
    const text = await this.insist(method, path, body === undefined ? {} : { json: body });
    return JSON.parse(text || "{}") as Json;
  }
}

async function lowPort(): Promise<number> {
  for (;;) {
    const port = PORTS.from + Math.floor(Math.random() * PORTS.count);
    const server = createServer();
    const isFree = Promise.race([once(server, "listening").then(() => true), once(server, "error").then(() => false)]);
    server.listen(port, "127.0.0.1");
    if (!(await isFree)) continue;
    server.close();
    await once(server, "close");
    return port;
  }
}

// The local client's end of `tenantry stdio`, inside this process: lines in, messages out, and how it all ended.

import { PassThrough } from "node:stream";
import { runCommandLine } from "../../src/cli/program.ts";
import type { ProcessContext } from "../../src/cli/terminal/terminal.ts";
import type { Json } from "./scripted-server.ts";

export class StdioClient {
  readonly #stdin = new PassThrough();
  readonly #interrupt = new AbortController();
  readonly #arrived: string[] = [];
  #waiting: (() => void)[] = [];
  readonly #exit: Promise<number>;
  stderr = "";

  constructor(args: readonly string[], env: Record<string, string> = {}) {
    const terminal: ProcessContext = {
      stdout: { write: (chunk) => this.#arrive(chunk.toString()) },
      stderr: {
        write: (chunk) => {
          this.stderr += chunk.toString();
          this.#wake();
        },
      },
      stdin: this.#stdin,
      env: { HOME: "/nowhere", ...env },
      cwd: "/",
      signal: this.#interrupt.signal,
    };
    this.#exit = runCommandLine(args, terminal);
  }

  send(...messages: (Json | string | Buffer)[]): void {
    for (const message of messages) {
      const isRaw = typeof message === "string" || Buffer.isBuffer(message);
      this.#stdin.write(isRaw ? message : JSON.stringify({ jsonrpc: "2.0", ...message }));
      this.#stdin.write("\n");
    }
  }

  /** The next line, as it stands there. */
  async line(): Promise<string> {
    await this.until(() => this.#arrived.length > 0);
    return this.#arrived.shift() ?? "";
  }

  async next(): Promise<Json> {
    return JSON.parse(await this.line()) as Json;
  }

  /** Until that is said on stderr. */
  async untilLogged(text: string): Promise<void> {
    await this.until(() => this.stderr.includes(text));
  }

  /** Closes stdin; what else came until the end. */
  async end(): Promise<{ exit: number; rest: Json[] }> {
    this.#stdin.end();
    const exit = await this.#exit;
    return { exit, rest: this.#arrived.map((line) => JSON.parse(line) as Json) };
  }

  async interrupt(): Promise<number> {
    this.#interrupt.abort();
    return this.#exit;
  }

  private async until(condition: () => boolean): Promise<void> {
    while (!condition()) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #arrive(chunk: string): boolean {
    if (!/^[^\n]+\n$/.test(chunk)) throw new Error(`not one line: ${chunk}`);
    this.#arrived.push(chunk.slice(0, -1));
    this.#wake();
    return true;
  }

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }
}

export const INITIALIZE = {
  id: "hello",
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: { roots: {} }, clientInfo: { name: "test", version: "1" } },
};
export const INITIALIZED = { method: "notifications/initialized" };

/** A 2026 request. */
export function claim(id: number | string, method: string, params: Json = {}): Json {
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  return { id, method, params: { ...params, _meta } };
}

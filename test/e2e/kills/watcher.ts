// An application with an official client in it: it reads what it is told has changed, and tries again what it could not
// read. In era 2026 it listens again when a subscription ends, and reads all then.

import { setTimeout as pause } from "node:timers/promises";
import type { Client as ClientV2 } from "@modelcontextprotocol/client";
import type { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { textOf } from "../../support/official-clients.ts";

/** A client that is connected, in an era, with its person. */
export interface Connected {
  readonly kind: string;
  readonly client: ClientV1 | ClientV2;
  readonly era: "2025" | "2026";
  /** It does not say what it had last: a result that it may not have had is sent again, and the client drops it. */
  readonly namesNoEvent?: boolean;
  call(name: string, args: Record<string, unknown>, onprogress?: (step: number) => void): Promise<object>;
  /** In era 2026; `closed` settles when the subscription is over. */
  listen?(uris: readonly string[]): Promise<{ readonly closed: Promise<unknown> }>;
  close(): Promise<void>;
}

const TOOLS = "tools";
const READ_WITHIN_MS = 10_000;
const AGAIN_MS = 200;

interface Message {
  readonly id?: string | number;
  readonly method?: string;
  readonly params?: { readonly uri?: string };
}

export class Watcher {
  readonly connected: Connected;
  readonly uris: readonly string[];
  /** The highest number read of each resource. */
  readonly known = new Map<string, number>();
  tools: ReadonlySet<string> = new Set();
  /** When it knew a resource's number, by both: milliseconds since the epoch. */
  readonly #since = new Map<string, number>();
  /** How often each request was answered. */
  readonly #answers = new Map<string | number, number>();
  readonly #dirty = new Set<string>();
  #isReading = false;
  #isOver = false;
  readonly #waiting = new Set<() => void>();

  constructor(connected: Connected, uris: readonly string[]) {
    this.connected = connected;
    this.uris = uris;
    const transport = connected.client.transport as { onmessage?: (message: Message, extra?: object) => void };
    const { onmessage } = transport;
    const take: typeof onmessage = (message, extra) => {
      this.#take(message);
      onmessage?.(message, extra);
    };
    Object.assign(transport, { onmessage: take });
  }

  /** Settles when every change from now on is heard, and what there is was read. */
  async begin(): Promise<void> {
    const { client, era } = this.connected;
    if (era === "2026") void this.#listenOn();
    else for (const uri of this.uris) await client.subscribeResource({ uri });
    this.#look(TOOLS, ...this.uris);
    await this.until(() => this.uris.every((uri) => this.known.has(uri)) && this.tools.size > 0, READ_WITHIN_MS * 3);
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await this.connected.close();
  }

  /** The requests that were answered more than once, since it was asked last. */
  doubled(): readonly (string | number)[] {
    const doubled = [...this.#answers].filter(([, times]) => times > 1).map(([id]) => id);
    for (const id of doubled) this.#answers.set(id, 1);
    return doubled;
  }

  /** When this number, or a higher one, was known first. */
  knewAt(uri: string, number: number): number | undefined {
    return this.#since.get(`${uri} ${number}`);
  }

  /** false: it did not hold within so many milliseconds. */
  async until(holds: () => boolean, milliseconds: number): Promise<boolean> {
    const end = Date.now() + milliseconds;
    while (!holds()) {
      const left = end - Date.now();
      if (left <= 0) return false;
      const woken = Promise.withResolvers<void>();
      this.#waiting.add(woken.resolve);
      const timer = setTimeout(woken.resolve, left);
      await woken.promise;
      clearTimeout(timer);
    }
    return true;
  }

  #wake(): void {
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }

  #take({ id, method, params }: Message): void {
    if (method === undefined && id !== undefined) this.#answers.set(id, (this.#answers.get(id) ?? 0) + 1);
    if (method === "notifications/tools/list_changed") this.#look(TOOLS);
    if (method === "notifications/resources/updated" && params?.uri !== undefined) this.#look(params.uri);
  }

  async #listenOn(): Promise<void> {
    while (!this.#isOver) {
      const listening = await this.connected.listen?.(this.uris).catch(() => undefined);
      if (listening) {
        this.#look(TOOLS, ...this.uris);
        await listening.closed;
      }
      await pause(AGAIN_MS * (1 + Math.random()));
    }
  }

  #look(...what: readonly string[]): void {
    for (const one of what) this.#dirty.add(one);
    if (!this.#isReading) void this.#readAll();
  }

  async #readAll(): Promise<void> {
    this.#isReading = true;
    for (const what of this.#dirty) {
      this.#dirty.delete(what);
      try {
        await (what === TOOLS ? this.#readTools() : this.#read(what));
      } catch {
        // Nobody was there to answer: what it was told stays true.
        if (this.#isOver) break;
        this.#dirty.add(what);
        await pause(AGAIN_MS * (0.5 + Math.random()));
      }
      this.#wake();
    }
    this.#isReading = false;
  }

  async #readTools(): Promise<void> {
    const { tools } = await this.connected.client.listTools(undefined, { timeout: READ_WITHIN_MS });
    this.tools = new Set(tools.map(({ name }) => name));
  }

  async #read(uri: string): Promise<void> {
    const { contents } = await this.connected.client.readResource({ uri }, { timeout: READ_WITHIN_MS });
    const number = Number((contents[0] as { readonly text?: string } | undefined)?.text);
    const before = this.known.get(uri) ?? -1;
    if (!(number > before)) return;
    this.known.set(uri, number);
    for (let at = Math.max(before + 1, number - 100); at <= number; at += 1)
      this.#since.set(`${uri} ${at}`, Date.now());
  }
}

/** A call that is under way, and what came of it. */
export interface Begun {
  readonly name: string;
  readonly key: string;
  readonly watcher: Watcher;
  readonly steps: readonly number[];
  /** Settles when the client was told something of it, or of its end. */
  readonly underWay: Promise<unknown>;
  /** The text of its result, or of the error. Never rejects. */
  readonly outcome: Promise<{ readonly text: string } | { readonly error: string }>;
}

/** `key`: what the arguments have as `key`, which names this call. */
export function beginCall(
  watcher: Watcher,
  { name, key, args = {} }: { readonly name: string; readonly key: string; readonly args?: Record<string, unknown> },
): Begun {
  const steps: number[] = [];
  const begun = Promise.withResolvers<void>();
  const outcome = watcher.connected
    .call(name, { key, ...args }, (step) => {
      steps.push(step);
      begun.resolve();
    })
    .then(
      (result) => ({ text: textOf(result) }),
      // Said by the client itself, or by the server.
      (error: unknown) => ({ error: String(error) }),
    )
    .catch((error: unknown) => ({ error: String(error) }));
  return { name, key, watcher, steps, underWay: Promise.race([begun.promise, outcome]), outcome };
}

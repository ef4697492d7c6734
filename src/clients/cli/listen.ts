// Owns a `subscriptions/listen` that outlives its connection: it is opened again until the server ends it or refuses it.
// Refuses to try again where it never worked.
// https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions

import { Backoff, pause } from "./backoff.ts";
import { isObject, type Json, type McpAnswer, type Received } from "./mcp-http.ts";
import type { SseCursor } from "./sse.ts";

/** What a server agreed to announce. */
export interface Filter {
  readonly toolsListChanged?: boolean;
  readonly promptsListChanged?: boolean;
  readonly resourcesListChanged?: boolean;
  readonly resourceSubscriptions?: readonly string[];
}

export interface Listening {
  readonly signal: AbortSignal;
  /** It worked before this: a server that is away will come back. */
  readonly wasOpen?: boolean;
  open(): Promise<McpAnswer>;
  /** The server listens to us: first, or again with the filter of the first time. */
  acknowledged(received: Received, filter: Filter, first: Filter | undefined): Promise<void>;
  notified(received: Received): Promise<void>;
  dropped(why: string, waitMs: number): void;
}

/** How it ended: with a response, or with an answer that is none. Undefined: interrupted. */
export interface Ended {
  readonly answer: McpAnswer;
  readonly response: Received | undefined;
}

export async function keepListening(listening: Listening): Promise<Ended | undefined> {
  const { signal } = listening;
  const backoff = new Backoff();
  let first: Filter | undefined;
  for (;;) {
    const round = new Round(listening, first);
    const ended = await round.run();
    if (ended) return ended;
    if (signal.aborted) return undefined;
    if (round.filter) backoff.reset();
    first ??= round.filter;
    const waitMs = backoff.nextMs(round.retryMs);
    listening.dropped(round.why, waitMs);
    if (!(await pause(waitMs, signal))) return undefined;
  }
}

/** One connection of it. */
class Round {
  filter: Filter | undefined;
  why = "the stream ended";
  readonly #listening: Listening;
  readonly #first: Filter | undefined;
  #cursor: SseCursor = {};

  constructor(listening: Listening, first: Filter | undefined) {
    this.#listening = listening;
    this.#first = first;
  }

  /** Undefined: the connection broke, and there is reason to try again. */
  async run(): Promise<Ended | undefined> {
    const { signal } = this.#listening;
    try {
      const answer = await this.#listening.open();
      this.#cursor = answer.cursor;
      const response = await this.#readOn(answer);
      if (this.#isOutage(answer)) return undefined;
      return response || answer.kind !== "stream" || !this.#wasOpen() ? { answer, response } : undefined;
    } catch (error) {
      if (!signal.aborted && !this.#wasOpen()) throw error;
      this.why = error instanceof Error ? error.message : String(error);
      return undefined;
    }
  }

  async #readOn({ messages }: McpAnswer): Promise<Received | undefined> {
    for await (const received of messages) {
      if (received.message.method === undefined) return received;
      await this.#take(received);
    }
    return undefined;
  }

  async #take(received: Received): Promise<void> {
    if (received.message.method !== "notifications/subscriptions/acknowledged") {
      return this.#listening.notified(received);
    }
    const params = isObject(received.message.params) ? received.message.params : {};
    this.filter = isObject(params.notifications) ? params.notifications : {};
    await this.#listening.acknowledged(received, this.filter, this.#first);
  }

  get retryMs(): number | undefined {
    return this.#cursor.retryMs;
  }

  #wasOpen(): boolean {
    return this.#listening.wasOpen === true || this.#first !== undefined || this.filter !== undefined;
  }

  /** A server that is down for a while is no server that says no. */
  #isOutage({ status }: McpAnswer): boolean {
    const isOutage = this.#wasOpen() && (status >= 500 || status === 429);
    if (isOutage) this.why = `the server answers ${status}`;
    return isOutage;
  }
}

const LISTS = {
  toolsListChanged: "notifications/tools/list_changed",
  promptsListChanged: "notifications/prompts/list_changed",
  resourcesListChanged: "notifications/resources/list_changed",
} as const;

/** What may have been missed while nobody listened: everything. */
export function everythingChanged(filter: Filter, _meta: Json): Json[] {
  const lists = Object.entries(LISTS).filter(([key]) => filter[key as keyof typeof LISTS] === true);
  const uris = filter.resourceSubscriptions ?? [];
  return [
    ...lists.map(([, method]) => ({ jsonrpc: "2.0", method, params: { _meta } })),
    ...uris.map((uri) => ({ jsonrpc: "2.0", method: "notifications/resources/updated", params: { _meta, uri } })),
  ];
}

/** What of it the other does not announce. */
export function missingFrom(filter: Filter, wanted: Filter): string[] {
  const lists = Object.keys(LISTS).filter((key) => {
    const list = key as keyof typeof LISTS;
    return wanted[list] === true && filter[list] !== true;
  });
  const uris = new Set(filter.resourceSubscriptions);
  return [...lists, ...(wanted.resourceSubscriptions ?? []).filter((uri) => !uris.has(uri))];
}

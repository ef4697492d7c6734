// Follows one call of era 2025 to its end, as a client does that wants its result whatever happens: when a stream ends
// without it, the next one goes on behind the last event.

import type { EventReader } from "./event-reader.ts";
import { openEvents } from "./event-reader.ts";
import type { Client, Json } from "./mcp-client.ts";
import { expectOfficial } from "./official-schema.ts";

export interface CallEvent {
  readonly id: string;
  readonly message: Json;
}

export interface Followed {
  /** Everything that was said, in order, the response last; as often as it was said. */
  readonly events: readonly CallEvent[];
  /** Over how many streams it came. */
  readonly streams: number;
}

async function openStream(url: string, init: RequestInit): Promise<EventReader> {
  const stream = await openEvents(url, init);
  const { status, headers } = stream;
  if (status === 200 && headers.get("content-type") === "text/event-stream") return stream;
  await stream.close();
  throw new Error(`answered ${status} and ${headers.get("content-type")} in place of a stream`);
}

/** A call whose stream is open. */
export class ResumableCall {
  readonly #client: Client;
  readonly #id: string;
  #stream: EventReader;
  readonly events: CallEvent[] = [];
  #lastEventId = "";
  streams = 1;

  private constructor(client: Client, id: string, stream: EventReader) {
    this.#client = client;
    this.#id = id;
    this.#stream = stream;
  }

  static async begin(
    url: string,
    client: Client,
    { id, params }: { id: string; params: Json },
  ): Promise<ResumableCall> {
    const stream = await openStream(url, {
      method: "POST",
      headers: { ...client.headers, "content-type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params }),
    });
    return new ResumableCall(client, id, stream);
  }

  get lastEventId(): string {
    return this.#lastEventId;
  }

  /** The next message of the stream that is open; undefined: it ended. */
  async next(): Promise<Json | undefined> {
    for (;;) {
      // A connection that was cut is a stream that ended.
      const event = await this.#stream.next().catch(() => undefined);
      if (!event) return undefined;
      this.#lastEventId = event.id ?? this.#lastEventId;
      if (event.data === "") continue;
      const message = JSON.parse(event.data) as Json;
      const method = typeof message.method === "string" ? message.method : "tools/call";
      expectOfficial(this.#client.revision, message, { direction: "server", method });
      this.events.push({ id: event.id ?? "", message });
      return message;
    }
  }

  /** Goes on behind the last event, at this URL. */
  async resume(url: string): Promise<void> {
    await this.drop();
    this.#stream = await openStream(url, { headers: { ...this.#client.headers, "last-event-id": this.#lastEventId } });
    this.streams += 1;
  }

  /** Ends the connection, as a client does that goes away. */
  drop(): Promise<void> {
    return this.#stream.close();
  }

  /** Settles with the response; `urlOf` says where the next stream is asked for. */
  async finish(urlOf: () => string): Promise<Json> {
    for (;;) {
      const message = await this.next();
      if (!message) await this.resume(urlOf());
      else if (message.id === this.#id && !("method" in message)) return message;
    }
  }
}

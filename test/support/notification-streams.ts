// Opens notification streams in tests, one way for each era: what it gives back listens already.

import type { EventSourceMessage } from "eventsource-parser/stream";
import { openEvents, type EventReader } from "./event-reader.ts";
import { client2025, client2026, post, type Client, type Json } from "./mcp-client.ts";
import { expectOfficial } from "./official-schema.ts";
import { write } from "./raw-http.ts";

export interface Listening {
  /** Of the same session as the stream, where there are sessions. */
  readonly client: Client;
  readonly events: EventReader;
  /** The next notification of this method, and of this URI when one is given; throws when the stream ends before it. */
  nextNotification(method: string, uri?: string): Promise<Json>;
  /** The id of the newest event that had one; "" where streams have none. */
  lastEventId(): string;
}

/** Settles when every change from now on is told. */
export type Listen = (url: string, uris: readonly string[]) => Promise<Listening>;

function listening(client: Client, events: EventReader, lastEventId = ""): Listening {
  let last = lastEventId;
  const next = async (): Promise<EventSourceMessage> => {
    const event = await events.next();
    if (!event) throw new Error("the stream ended");
    last = event.id ?? last;
    return event;
  };
  return {
    client,
    events,
    lastEventId: () => last,
    nextNotification: async (method, uri) => {
      for (;;) {
        const { data } = await next();
        if (data === "") continue;
        const message = JSON.parse(data) as Json & { params?: { uri?: string } };
        expectOfficial(client.revision, message, { direction: "server", method: String(message.method) });
        if (message.method === method && (uri === undefined || message.params?.uri === uri)) return message;
      }
    },
  };
}

/** The standalone stream of a session, from where an earlier one was when `lastEventId` says so. */
export async function reopen2025(url: string, client: Client, lastEventId?: string): Promise<Listening> {
  const resumed = lastEventId === undefined ? {} : { "last-event-id": lastEventId };
  const events = await openEvents(url, { headers: { ...client.headers, ...resumed } });
  if (events.status !== 200) throw new Error(`the stream was answered ${events.status}`);
  const primed = await events.next();
  return listening(client, events, primed?.id);
}

export const listen2025: Listen = async (url, uris) => {
  const client = await client2025(url);
  const opened = await reopen2025(url, client);
  for (const uri of uris) await client.request("resources/subscribe", { uri });
  return opened;
};

const LISTS = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true };

export const listen2026: Listen = async (url, uris) => {
  const client = client2026(url);
  const notifications = { ...LISTS, resourceSubscriptions: uris };
  const { headers, body } = write(client.revision, "subscriptions/listen", { notifications });
  const opened = listening(client, await openEvents(url, { method: "POST", headers, body: JSON.stringify(body) }));
  await opened.nextNotification("notifications/subscriptions/acknowledged");
  return opened;
};

/** Its client reads in a session of its own: what is asked for on this transport is answered among what is told. */
export const listenHttpSse: Listen = async (url, uris) => {
  const client = await client2025(url, "2024-11-05");
  const events = await openEvents(url);
  const first = await events.next();
  if (first?.event !== "endpoint") throw new Error("the stream does not begin with its endpoint");
  const endpoint = new URL(first.data, url).href;
  const request = async (id: number, method: string, params: Json) => {
    await post(endpoint, { jsonrpc: "2.0", id, method, params });
    await events.message((message) => message.id === id);
  };
  for (const [at, uri] of uris.entries()) await request(at, "resources/subscribe", { uri });
  return listening(client, events, first.id);
};

/** Every kind of notification stream that there is; one more is one more row. */
export const STREAM_KINDS: readonly { readonly kind: string; readonly listen: Listen }[] = [
  { kind: "GET streams of era 2025", listen: listen2025 },
  { kind: "listen streams of era 2026", listen: listen2026 },
  { kind: "HTTP+SSE streams of 2024-11-05", listen: listenHttpSse },
];

// Listens to a tenant's notifications in either era: a session's GET stream, or subscriptions/listen. Every message is
// held against the official schema of its revision.

import { openEvents, type EventReader } from "./event-reader.ts";
import { client2025, type Client, type Json } from "./mcp-client.ts";
import { expectOfficial } from "./official-schema.ts";
import { write } from "./raw-http.ts";

export interface ListeningOptions {
  /** What is subscribed to; in era 2025 one by one. */
  readonly uris?: readonly string[];
  /** Of `notifications` in era 2026; era 2025 hears of all lists. */
  readonly lists?: Json;
  /** Of every request, such as a credential. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Of the request that listens, in era 2026. */
  readonly id?: string | number;
}

export interface Listening {
  readonly events: EventReader;
  /** The session's client; era 2025 alone has one. */
  readonly client: Client | undefined;
  /** The next notification; throws when the stream ends. */
  readonly next: () => Promise<Json>;
  /** What is told before this resource is. */
  readonly before: (uri: string) => Promise<Json[]>;
  /** What is told until the server ends the stream. */
  readonly rest: () => Promise<Json[]>;
}

export const ALL_LISTS = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true };

/** It has begun: whatever changes from now on is heard. */
export async function listenTo(
  revision: string,
  url: string,
  { uris = [], lists = ALL_LISTS, headers = {}, id = "listening" }: ListeningOptions = {},
): Promise<Listening> {
  if (revision !== "2026-07-28") {
    const client = await client2025(url, revision, {}, headers);
    for (const uri of uris) {
      const { error } = await client.request("resources/subscribe", { uri });
      if (error) throw new Error(`${uri}: ${error.message}`);
    }
    return listeningOf(revision, await openEvents(url, { headers: client.headers }), client);
  }
  const notifications = { ...lists, ...(uris.length > 0 ? { resourceSubscriptions: uris } : {}) };
  const written = write(revision, "subscriptions/listen", { notifications }, id);
  const events = await openEvents(url, {
    method: "POST",
    headers: { ...written.headers, ...headers },
    body: JSON.stringify(written.body),
  });
  const listening = listeningOf(revision, events, undefined);
  const { method } = await listening.next();
  if (method !== "notifications/subscriptions/acknowledged") throw new Error(`${String(method)} came first`);
  return listening;
}

export function listeningOf(revision: string, events: EventReader, client: Client | undefined): Listening {
  const next = async () => {
    const message = await events.message();
    const method = typeof message["method"] === "string" ? message["method"] : "subscriptions/listen";
    expectOfficial(revision, message, { direction: "server", method });
    return message;
  };
  return {
    events,
    client,
    next,
    before: async (uri) => {
      const notifications: Json[] = [];
      for (let message = await next(); !names(message, uri); message = await next()) notifications.push(message);
      return notifications;
    },
    rest: async () => {
      const notifications: Json[] = [];
      for (let event = await events.next(); event; event = await events.next()) {
        if (event.data !== "") notifications.push(JSON.parse(event.data) as Json);
      }
      return notifications;
    },
  };
}

function names({ method, params }: Json, uri: string): boolean {
  return method === "notifications/resources/updated" && (params as Json)["uri"] === uri;
}

// One connection of a client over HTTP+SSE (2024-11-05): its stream, the endpoint that the stream named, and what is
// posted there.

import type { EventSourceMessage } from "eventsource-parser/stream";
import { onTestFinished } from "vitest";
import { openEvents, type EventReader } from "./event-reader.ts";
import { post, type Json, type Reply } from "./mcp-client.ts";
import { expectOfficial } from "./official-schema.ts";

export interface SseEvent {
  /** "" for none. */
  readonly id: string;
  readonly message: Json;
}

export interface SseConnection {
  readonly stream: EventReader;
  readonly endpoint: string;
  /** Of the event that named the endpoint. */
  readonly endpointId: string;
  readonly send: (message: unknown) => Promise<Reply>;
  /** Sends it and settles with its answer; throws when it was not taken. */
  readonly request: (id: string | number, method: string, params?: Json) => Promise<Json>;
  readonly call: (id: string | number, name: string, args?: Json, meta?: Json) => Promise<Reply>;
  /** The next message with this id or of this method; what comes before it is dropped. */
  readonly event: (idOrMethod: unknown) => Promise<SseEvent>;
  /** Everything that was said before now, found out with a ping. */
  readonly soFar: () => Promise<Json[]>;
}

export interface SseOptions {
  readonly headers?: Readonly<Record<string, string>>;
  /** Where messages are posted, when not at the origin of the stream. */
  readonly postsTo?: string;
}

export const HELLO = {
  protocolVersion: "2024-11-05",
  capabilities: { elicitation: {}, sampling: {}, roots: {} },
  clientInfo: { name: "test", version: "1" },
};

function messageOf({ data }: EventSourceMessage): Json {
  return JSON.parse(data) as Json;
}

/** Until the test ends. Throws unless the stream begins with its endpoint. */
export async function connectSse(
  url: string,
  { headers = {}, postsTo = url }: SseOptions = {},
): Promise<SseConnection> {
  const stream = await openEvents(url, { headers });
  onTestFinished(() => stream.close());
  const first = await stream.next();
  if (first?.event !== "endpoint") throw new Error(`answered ${stream.status}, without an endpoint`);
  const endpoint = new URL(first.data, postsTo).href;
  const send = (message: unknown) => post(endpoint, message, { headers: { ...headers } });
  const event = async (idOrMethod: unknown): Promise<SseEvent> => {
    for (let next = await stream.next(); next; next = await stream.next()) {
      const message = messageOf(next);
      if (message.id === idOrMethod || message.method === idOrMethod) return { id: next.id ?? "", message };
    }
    throw new Error(`the stream ended before ${String(idOrMethod)}`);
  };
  const connection: SseConnection = {
    stream,
    endpoint,
    endpointId: first.id ?? "",
    send,
    event,
    request: async (id, method, params) => {
      const { status, text } = await send({ jsonrpc: "2.0", id, method, ...(params ? { params } : {}) });
      if (status !== 202) throw new Error(`${method} was answered ${status}: ${text}`);
      const { message } = await event(id);
      expectOfficial("2024-11-05", message, { direction: "server", method });
      return message;
    },
    call: (id, name, args = {}, meta) =>
      send({
        jsonrpc: "2.0",
        id,
        method: "tools/call",
        params: { name, arguments: args, ...(meta ? { _meta: meta } : {}) },
      }),
    soFar: async () => {
      const id = crypto.randomUUID();
      await send({ jsonrpc: "2.0", id, method: "ping" });
      const answer: Json[] = [];
      for (let next = await stream.next(); next; next = await stream.next()) {
        const message = messageOf(next);
        if (message.id === id) return answer;
        answer.push(message);
      }
      throw new Error("the stream ended");
    },
  };
  return connection;
}

/** Agrees with the server on what the client can be asked. */
export async function initializeSse(connection: SseConnection, about: Json = {}): Promise<Json> {
  const { result } = await connection.request("hello", "initialize", { ...HELLO, ...about });
  await connection.send({ jsonrpc: "2.0", method: "notifications/initialized" });
  return result as Json;
}

/** What `change` writes in the tenant `lab`. */
export const changedUri = (key: string) => `lab://ends/${key}/began`;

/** Somebody else, without a session, changes a resource. */
export function change(lab: string, key: string): Promise<Reply> {
  const params = { name: "lab_watch", arguments: { key, forMs: 0, talk: false } };
  return post(lab, { jsonrpc: "2.0", id: 1, method: "tools/call", params });
}

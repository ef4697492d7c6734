// Reads a stream of server-sent events for tests: one event after the other, awaited as they come.

import { EventSourceParserStream, type EventSourceMessage } from "eventsource-parser/stream";
import type { Json } from "./mcp-client.ts";

export interface EventReader {
  readonly status: number;
  readonly headers: Headers;
  /** The next event; undefined: the stream ended. */
  next(): Promise<EventSourceMessage | undefined>;
  /** The next JSON-RPC message that fits; throws when the stream ends before it. */
  message(fits?: (message: Json) => boolean): Promise<Json>;
  /** The next comment that comes while somebody waits for an event. */
  comment(): Promise<string>;
  close(): Promise<void>;
}

export async function openEvents(url: string, init: RequestInit = {}): Promise<EventReader> {
  const abort = new AbortController();
  const headers = { accept: "text/event-stream", ...(init.headers as Record<string, string> | undefined) };
  const response = await fetch(url, { ...init, headers, signal: abort.signal });
  if (!response.body) throw new Error(`${response.status} without a body`);
  const waiting: ((comment: string) => void)[] = [];
  const onComment = (comment: string) => {
    for (const resolve of waiting.splice(0)) resolve(comment);
  };
  const reader = response.body
    .pipeThrough(new TextDecoderStream())
    .pipeThrough(new EventSourceParserStream({ onComment }))
    .getReader();
  const next = async () => (await reader.read()).value;
  return {
    status: response.status,
    headers: response.headers,
    next,
    message: async (fits = () => true) => {
      for (let event = await next(); event; event = await next()) {
        if (event.data === "") continue;
        const message = JSON.parse(event.data) as Json;
        if (fits(message)) return message;
      }
      throw new Error("the stream ended");
    },
    comment: () =>
      new Promise((resolve) => {
        waiting.push(resolve);
      }),
    close: async () => {
      await reader.cancel().catch(() => {});
      abort.abort();
    },
  };
}

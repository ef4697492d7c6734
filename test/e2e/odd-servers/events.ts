// Streams whose events are not all messages, or not as one would write them.

import type { Json } from "../../support/mcp-client.ts";
import { WORKS, type OddKind, type OddRow } from "./odd-row.ts";
import { at, event, everywhere, onCall, type OddRequest } from "./odd-request.ts";

const encoder = new TextEncoder();
const another = (request: OddRequest): Json => ({
  jsonrpc: "2.0",
  id: request.id,
  result: { content: [{ type: "text", text: "went elsewhere" }] },
});

/** What stands in a stream before the answer. */
const BEFORE: readonly (readonly [id: string, what: string, text: string])[] = [
  ["beat-object", 'data: {"type":"heartbeat"}', 'data: {"type":"heartbeat"}\n\n'],
  ["beat-empty-object", "data: {}", "data: {}\n\n"],
  ["beat-text", "data: ping", "data: ping\n\n"],
  ["beat-quoted", 'data: "ping"', 'data: "ping"\n\n'],
  ["beat-number", "data: 1700000000", "data: 1700000000\n\n"],
  ["beat-null", "data: null", "data: null\n\n"],
  ["beat-list", "data: []", "data: []\n\n"],
  ["beat-half", "half a message", 'data: {"jsonrpc":"2.0","id"\n\n'],
  ["beat-method", "a method without jsonrpc", 'data: {"method":"notifications/alive"}\n\n'],
  ["beat-done", "data: [DONE]", "data: [DONE]\n\n"],
  ["event-ping", "event: ping with data", "event: ping\ndata: 2026-01-01T00:00:00Z\n\n"],
  ["event-endpoint", "event: endpoint", "event: endpoint\ndata: /messages?id=1\n\n"],
  ["event-error", "event: error with a text", "event: error\ndata: slow\n\n"],
  ["comment", "a comment", ": keep-alive\n\n"],
  ["comments", "a thousand comments", ": keep-alive\n\n".repeat(1000)],
  ["data-empty", "data: nothing", "data:\n\n"],
  ["data-bare", "data without a colon", "data\n\n"],
  ["id-alone", "an id without data", "id: 7\n\n"],
  ["retry-alone", "retry: 5000", "retry: 5000\n\n"],
  ["retry-text", "retry: soon", "retry: soon\n\n"],
  ["priming", "a priming event", "id: 7\nretry: 100\ndata:\n\n"],
  ["field-unknown", "fields that nobody knows", "when: now\nfoo\n\n"],
  ["blank-lines", "blank lines", "\n\n\n\n"],
  ["notice-unknown", "a notification that nobody knows", event({ jsonrpc: "2.0", method: "notifications/alive" })],
  [
    "progress-foreign",
    "progress of nothing",
    event({ jsonrpc: "2.0", method: "notifications/progress", params: { progressToken: "x", progress: 1 } }),
  ],
  [
    "log-level",
    "a log message of an unknown level",
    event({ jsonrpc: "2.0", method: "notifications/message", params: { level: "verbose", data: "x" } }),
  ],
  [
    "notice-list",
    "a notification with a list for params",
    event({ jsonrpc: "2.0", method: "notifications/x", params: [] }),
  ],
];

const RULED = new Set(["beat-object", "beat-empty-object", "beat-text", "beat-quoted", "beat-number", "beat-null"]);

const PRECEDED: readonly OddRow[] = BEFORE.map(([id, what, text]) => ({
  id,
  what: `before the answer: ${what}`,
  odd: onCall((request) => request.stream(text, event(request.usual)).end()),
  ...(RULED.has(id) ? WORKS : {}),
}));

/** The text of an event, written another way. */
const written = (change: (text: string, usual: Json) => string) =>
  everywhere((request, usual) => request.stream(change(event(usual), usual)).end());

const WRITTEN: readonly OddRow[] = [
  {
    id: "beat-everywhere",
    what: 'every answer is preceded by data: {"type":"heartbeat"}',
    odd: written((text) => `data: {"type":"heartbeat"}\n\n${text}`),
    ...WORKS,
  },
  {
    id: "beat-2026",
    what: 'every answer is preceded by data: {"type":"heartbeat"}, in both eras',
    speaksBoth: true,
    odd: written((text) => `data: {"type":"heartbeat"}\n\n${text}`),
    ...WORKS,
  },
  { id: "named-message", what: "every event is named message", odd: written((text) => text) },
  { id: "unnamed", what: "no event is named", odd: written((text) => text.replace("event: message\n", "")) },
  {
    id: "named-otherwise",
    isSilent: true,
    what: 'every event is named "response"',
    odd: written((text) => text.replace("message", "response")),
  },
  {
    id: "named-capital",
    isSilent: true,
    what: 'every event is named "Message"',
    odd: written((text) => text.replace("message", "Message")),
  },
  { id: "cr", isSilent: true, what: "lines end in CR alone", odd: written((text) => text.replaceAll("\n", "\r")) },
  { id: "crlf", what: "lines end in CR LF", odd: written((text) => text.replaceAll("\n", "\r\n")) },
  { id: "events-bom", what: "the stream begins with a BOM", odd: written((text) => `\uFEFF${text}`) },
  {
    id: "data-lines",
    what: "data over many lines",
    odd: written((_text, usual) => `${JSON.stringify(usual, null, 2).replaceAll(/^/gm, "data: ")}\n\n`),
  },
  { id: "data-tight", what: "no space after data:", odd: written((text) => text.replaceAll(": ", ":")) },
  { id: "unended", isSilent: true, what: "no blank line after the last event", odd: written((text) => text.trimEnd()) },
  {
    id: "one-newline",
    isSilent: true,
    what: "one line end after the last event",
    odd: written((text) => text.replace(/\n\n$/, "\n")),
  },
  {
    id: "batch-event",
    isSilent: true,
    what: "an event is a list of messages",
    odd: written(
      (_text, usual) => `data: ${JSON.stringify([{ jsonrpc: "2.0", method: "notifications/x" }, usual])}\n\n`,
    ),
  },
  {
    id: "drips",
    what: "a stream comes byte by byte",
    odd: everywhere((request, usual) => {
      const exchange = request.stream();
      for (const byte of encoder.encode(event(usual))) exchange.raw(Uint8Array.of(byte));
      exchange.end();
    }),
  },
];

const ENDS: readonly OddRow[] = [
  {
    id: "stays-open",
    what: "a stream stays open after the answer",
    odd: everywhere((request, usual) => void request.stream(event(usual))),
  },
  {
    id: "breaks-after",
    what: "a stream breaks after the answer",
    odd: onCall((request) => request.stream(event(request.usual)).drop()),
  },
  {
    id: "beats-after",
    what: "heartbeats after the answer",
    odd: onCall((request) => request.stream(event(request.usual), "data: ping\n\n", "data: {}\n\n").end()),
  },
  {
    id: "ends-before",
    isSilent: true,
    what: "a stream ends without an answer",
    odd: onCall((request) => request.stream(": bye\n\n").end()),
  },
  {
    id: "breaks-before",
    isSilent: true,
    what: "a stream breaks before the answer",
    odd: onCall((request) => request.stream('data: {"jsonrpc"').drop()),
  },
  {
    id: "resumed",
    what: "a stream ends after an id, and a GET has the answer",
    odd: at(["tools/call", "GET"], (request) => {
      const { state, exchange } = request;
      if (request.name === "tools/call") {
        state[String(request.exchange.headers["mcp-session-id"])] = request.usual;
        request.stream("id: 7\nretry: 50\ndata:\n\n").end();
      } else if (exchange.headers["last-event-id"] === undefined) request.asUsual();
      else request.stream(event(state[String(exchange.headers["mcp-session-id"])])).end();
    }),
  },
  {
    id: "twice-event",
    what: "a call is answered twice, in two events",
    odd: onCall((request) => request.stream(event(request.usual), event(another(request))).end()),
  },
  {
    id: "twice-same",
    what: "a call is answered twice with the same",
    odd: onCall((request) => request.stream(event(request.usual), event(request.usual)).end()),
  },
  {
    id: "twice-batch",
    what: "a call is answered twice, in a batch",
    odd: onCall((request) => request.json([request.usual, another(request)])),
    gateway: { callFails: /twice/ },
  },
  {
    id: "twice-batch-event",
    what: "a call is answered twice, in one event",
    odd: onCall((request) => request.stream(event([request.usual, another(request)])).end()),
    isSilent: true,
  },
  {
    id: "twice-error",
    what: "a call is answered with an error, and then with a result",
    odd: onCall((request) =>
      request
        .stream(
          event({ jsonrpc: "2.0", id: request.id, error: { code: -32000, message: "first" } }),
          event(request.usual),
        )
        .end(),
    ),
  },
  {
    id: "twice-everywhere",
    what: "everything is answered twice",
    odd: everywhere((request, usual) => request.stream(event(usual), event(usual)).end()),
  },
];

export const EVENTS_OF_STREAMS: OddKind = { kind: "events", rows: [...PRECEDED, ...WRITTEN, ...ENDS] };

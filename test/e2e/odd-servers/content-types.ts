// Every answer says that it is something else, or says it oddly.

import { WORDS, type OddKind, type OddRow } from "./odd-row.ts";
import { event, EVENTS, everywhere, onCall } from "./odd-request.ts";

const JSONS: readonly (readonly [id: string, type: string])[] = [
  ["type-charset", "application/json; charset=utf-8"],
  ["type-charset-capital", "application/json;charset=UTF-8"],
  ["type-semicolon", "application/json;"],
  ["type-charset-empty", "application/json; charset="],
  ["type-spaces", "application/json ; charset = utf-8"],
  ["type-quoted", 'application/json; charset="utf-8"'],
  ["type-unseparated", "application/json charset=utf-8"],
  ["type-latin", "application/json; charset=iso-8859-1"],
  ["type-capital", "APPLICATION/JSON"],
  ["type-mcp", "application/mcp+json"],
  ["type-vnd", "application/vnd.api+json; version=1"],
  ["type-problem", "application/problem+json"],
  ["type-rpc", "application/json-rpc"],
  ["type-text-json", "text/json"],
  ["type-ndjson", "application/x-ndjson"],
  ["type-plain", "text/plain"],
  ["type-html", "text/html; charset=utf-8"],
  ["type-octets", "application/octet-stream"],
  ["type-any", "*/*"],
  ["type-empty", ""],
  ["type-joined", "application/json, application/json"],
  ["type-json-events", EVENTS],
];

const EVENT_STREAMS: readonly (readonly [id: string, type: string])[] = [
  ["events-charset", "text/event-stream; charset=utf-8"],
  ["events-charset-tight", "text/event-stream;charset=UTF-8"],
  ["events-capital", "Text/Event-Stream"],
  ["events-semicolon", "text/event-stream;"],
  ["events-json", "application/json"],
  ["events-plain", "text/plain"],
];

const rows: readonly OddRow[] = [
  ...JSONS.map(([id, type]) => ({
    id,
    what: `JSON as ${type === "" ? "nothing" : type}`,
    odd: everywhere((asked, usual) => asked.json(usual, { type })),
    ...(type === EVENTS ? { isSilent: true as const } : {}),
  })),
  {
    id: "type-none",
    what: "JSON without a type",
    odd: everywhere((asked, usual) => asked.json(usual, { type: null })),
  },
  {
    id: "type-twice",
    what: "JSON with two headers of its type",
    odd: everywhere((asked, usual) =>
      asked.json(usual, { headers: { "Content-Type": "application/json" }, type: "application/json" }),
    ),
  },
  {
    id: "type-two",
    what: "JSON as application/json and, in another header, text/plain",
    odd: everywhere((asked, usual) => asked.json(usual, { headers: { "Content-Type": "text/plain" } })),
  },
  ...EVENT_STREAMS.map(([id, type]) => ({
    id,
    what: `events as ${type}`,
    odd: everywhere((asked, usual) => asked.send(event(usual), { type })),
  })),
  ...(["text/plain", "text/html", "application/problem+json"] as const).map((type) => ({
    id: `as-${type.replaceAll(/\W/g, "-")}`,
    what: `a call is answered 400 with an error as ${type}`,
    words: WORDS,
    odd: onCall((asked) => asked.error(-32600, WORDS, { status: 400, type })),
  })),
  {
    id: "error-as-events",
    what: "a call is answered 400 with an event",
    words: WORDS,
    odd: onCall((asked) =>
      asked.send(event({ jsonrpc: "2.0", id: asked.id, error: { code: -32600, message: WORDS } }), {
        status: 400,
        type: "text/event-stream",
      }),
    ),
  },
];

export const CONTENT_TYPES: OddKind = { kind: "content types", rows };

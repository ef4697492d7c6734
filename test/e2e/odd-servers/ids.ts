// Answers whose id is not the one of the request.

import type { Json } from "../../support/mcp-client.ts";
import { WORDS, WORKS, type OddKind, type OddRow } from "./odd-row.ts";
import { at, event, everywhere, onCall, type OddRequest } from "./odd-request.ts";

/** What servers that refuse before they have read the id write in its place. */
const MADE_UP: readonly { readonly slug: string; readonly what: string; readonly id?: unknown }[] = [
  { slug: "server-error", what: 'the id "server-error"', id: "server-error" },
  { slug: "empty", what: 'the id ""', id: "" },
  { slug: "null", what: "the id null", id: null },
  { slug: "missing", what: "no id" },
  { slug: "number", what: "another id", id: 4711 },
  { slug: "object", what: "the id {}", id: {} },
];

function refused(request: OddRequest, status: number, { id }: Json): void {
  request.json(
    { jsonrpc: "2.0", ...(id === undefined ? {} : { id }), error: { code: -32600, message: WORDS } },
    { status },
  );
}

const PROBED: readonly OddRow[] = MADE_UP.map(({ slug, what, id }) => ({
  id: `probe-id-${slug}`,
  what: `the probe is answered 400 with ${what}`,
  odd: at(["server/discover"], (request) => refused(request, 400, { id })),
  ...WORKS,
}));

const CALLED: readonly OddRow[] = [400, 404, 500].flatMap((status) =>
  MADE_UP.map(({ slug, what, id }) => ({
    id: `call-${status}-id-${slug}`,
    what: `a call is answered ${status} with ${what}`,
    words: WORDS,
    odd: onCall((request) => refused(request, status, { id })),
  })),
);

/** The JSON of an answer with another spelling of its id. */
const spelled = (usual: Json, id: string) => JSON.stringify({ ...usual, id: "ID" }).replace('"ID"', id);

const SPELLED: readonly OddRow[] = [
  { slug: "text", what: "a number as text", spell: (id: number) => `"${id}"` },
  { slug: "float", what: "a number as 1.0", spell: (id: number) => `${id}.0` },
  { slug: "exponent", what: "a number as 1e0", spell: (id: number) => `${id}e0` },
  { slug: "zeros", what: 'a number as "01"', spell: (id: number) => `"0${id}"` },
].map(({ slug, what, spell }) => ({
  id: `id-${slug}`,
  what: `every answer has its id, ${what}`,
  also: ["get", "read"] as const,
  odd: everywhere((request, usual) =>
    typeof request.id === "number" ? request.send(spelled(usual, spell(request.id))) : request.json(usual),
  ),
  ...(slug === "zeros" ? {} : WORKS),
}));

const RESULTS: readonly OddRow[] = [
  {
    id: "id-text-in-events",
    what: "every event has its id, a number as text",
    odd: everywhere((request, usual) => request.stream(event({ ...usual, id: String(request.id) })).end()),
    ...WORKS,
  },
  {
    id: "id-text-2026",
    what: "every answer has its id, a number as text, in both eras",
    speaksBoth: true,
    odd: everywhere((request, usual) => request.json({ ...usual, id: String(request.id) })),
    ...WORKS,
  },
  {
    id: "call-500-2026",
    what: 'a call is answered 500 with the id "server-error", in both eras',
    speaksBoth: true,
    words: WORDS,
    odd: onCall((request) => refused(request, 500, { id: "server-error" })),
  },
  {
    id: "id-zero-lost",
    what: "the id 0 comes back as null",
    odd: everywhere((request, usual) => request.json({ ...usual, id: request.id === 0 ? null : request.id })),
  },
  {
    id: "result-id-null",
    what: "a result has the id null",
    odd: onCall((request) => request.json({ ...request.usual, id: null })),
  },
  {
    id: "result-id-missing",
    what: "a result has no id",
    odd: onCall((request) => request.json({ ...request.usual, id: undefined })),
  },
  {
    id: "result-id-foreign",
    what: "a result has another id",
    isSilent: true,
    odd: onCall((request) => request.json({ ...request.usual, id: 4711 })),
  },
  {
    id: "result-id-true",
    what: "a result has the id true",
    odd: onCall((request) => request.json({ ...request.usual, id: true })),
  },
  ...MADE_UP.map(({ slug, what, id }) => ({
    id: `error-200-id-${slug}`,
    what: `an error is answered 200 with ${what}`,
    words: WORDS,
    odd: onCall((request) => refused(request, 200, { id })),
    ...(slug === "null" || slug === "object" ? {} : { isSilent: true as const }),
  })),
];

const foreign = { jsonrpc: "2.0", id: 4711, result: { content: [{ type: "text", text: "of somebody else" }] } };

const STRAY: readonly OddRow[] = [
  {
    id: "stray-before",
    what: "a foreign response is before the answer, on its stream",
    odd: onCall((request) => request.stream(event(foreign), event(request.usual)).end()),
  },
  {
    id: "stray-text-before",
    what: 'a response with the id "unknown" is before the answer, on its stream',
    odd: onCall((request) => request.stream(event({ ...foreign, id: "unknown" }), event(request.usual)).end()),
  },
  {
    id: "stray-error-before",
    what: "an error with the id null is before the answer, on its stream",
    odd: onCall((request) =>
      request
        .stream(event({ jsonrpc: "2.0", id: null, error: { code: -32603, message: "late" } }), event(request.usual))
        .end(),
    ),
  },
  {
    id: "stray-2026",
    what: "a foreign response is before the answer, in both eras",
    speaksBoth: true,
    odd: onCall((request) => request.stream(event(foreign), event(request.usual)).end()),
  },
  {
    id: "stray-after",
    what: "a foreign response is after the answer, on its stream",
    odd: onCall((request) => request.stream(event(request.usual), event(foreign)).end()),
  },
  {
    id: "stray-in-batch",
    what: "a foreign response is beside the answer, in a batch",
    odd: onCall((request) => request.json([foreign, request.usual])),
  },
  {
    id: "batch-of-one",
    what: "every answer is a batch of one",
    odd: everywhere((request, usual) => request.json([usual])),
  },
];

export const IDS: OddKind = { kind: "ids", rows: [...PROBED, ...CALLED, ...SPELLED, ...RESULTS, ...STRAY] };

// HTTP statuses: of the probe for 2026-07-28, of `notifications/initialized`, of calls, and redirects.

import { WORDS, WORKS, type OddKind, type OddRow } from "./odd-row.ts";
import { at, everywhere, onCall, type OddRequest, type How, type Oddity } from "./odd-request.ts";

const HTML = { type: "text/html" } as const;
const PLAIN = { type: "text/plain" } as const;
const CHALLENGE = { "www-authenticate": 'Bearer resource_metadata="http://127.0.0.1/.well-known/x"' };
const PAGE = `<!doctype html><html><body><h1>502</h1><p>${WORDS}</p></body></html>`;

const PROBES: readonly (readonly [what: string, body: string, how: How])[] = [
  ["400", "Bad Request", { status: 400, ...PLAIN }],
  ["401", "", { status: 401, ...PLAIN }],
  ["401 with a challenge", "", { status: 401, headers: CHALLENGE }],
  ["403", "Forbidden", { status: 403, ...PLAIN }],
  ["404", "", { status: 404, type: null }],
  ["405", "", { status: 405, type: null }],
  ["406", '{"detail":"Not acceptable"}', { status: 406 }],
  ["409", '{"error":"conflict"}', { status: 409 }],
  ["410", "", { status: 410, type: null }],
  ["415", "Unsupported Media Type", { status: 415, ...PLAIN }],
  ["418", "", { status: 418, type: null }],
  ["422 of FastAPI", '{"detail":[{"loc":["body"],"msg":"Field required","type":"missing"}]}', { status: 422 }],
  ["429", "", { status: 429, ...PLAIN }],
  ["500", "Internal Server Error", { status: 500, ...PLAIN }],
  ["500 in JSON-RPC", '{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no"}}', { status: 500 }],
  ["501", "", { status: 501, type: null }],
  ["502 with a page", PAGE, { status: 502, ...HTML }],
  ["503", "", { status: 503, ...PLAIN }],
];

const PROBED: readonly OddRow[] = PROBES.map(([what, body, how]) => ({
  id: `probe-${what.toLowerCase().replaceAll(" ", "-")}`,
  what: `the probe is answered ${what}`,
  odd: at(["server/discover"], (request) => request.send(body, how)),
  ...WORKS,
}));

const PROBED_OTHERWISE: readonly OddRow[] = [
  {
    id: "probe-200-page",
    what: "the probe is answered 200 with a page",
    odd: at(["server/discover"], (request) => request.send(PAGE, HTML)),
  },
  { id: "probe-202", what: "the probe is answered 202", isSilent: true, odd: at(["server/discover"], nothing(202)) },
  { id: "probe-204", what: "the probe is answered 204", odd: at(["server/discover"], nothing(204)) },
  {
    id: "probe-result",
    what: "the probe is answered with an empty result",
    odd: at(["server/discover"], (request) => request.result({})),
  },
  {
    id: "probe-empty",
    what: "the probe is answered 200 with nothing",
    odd: at(["server/discover"], (request) => request.send("")),
  },
  { id: "probe-silence", what: "the probe is never answered", isSilent: true, odd: at(["server/discover"], () => {}) },
];

function nothing(status: number): Oddity {
  return (request) => request.send("", { status, type: null });
}

const INITIALIZED: readonly OddRow[] = [
  ["initialized-200", "200 with a body", (request: OddRequest) => request.send("{}")],
  ["initialized-ok", '200 with "ok"', (request: OddRequest) => request.send("ok", PLAIN)],
  ["initialized-events", "200 with an empty stream", (request: OddRequest) => request.stream().end()],
  ["initialized-201", "201", nothing(201)],
  ["initialized-204", "204", nothing(204)],
  ["initialized-400", "400", nothing(400)],
  [
    "initialized-404",
    "404 with -32601",
    (request: OddRequest) => request.error(-32601, "Method not found", { status: 404 }),
  ],
  ["initialized-500", "500", nothing(500)],
  ["initialized-silence", "never", () => {}],
].map(([id, what, odd]) => ({
  id: id as string,
  what: `initialized is answered ${what as string}`,
  odd: at(["notifications/initialized"], odd as Oddity),
  ...(id === "initialized-silence" ? { isSilent: true as const } : {}),
}));

const WORDED: readonly (readonly [id: string, what: string, body: string, how: How])[] = [
  ["call-500-detail", '500 with "detail" (FastAPI)', JSON.stringify({ detail: WORDS }), { status: 500 }],
  ["call-500-message", '500 with "message" (Laravel)', JSON.stringify({ message: WORDS }), { status: 500 }],
  ["call-500-error", '500 with "error" (Express)', JSON.stringify({ error: WORDS }), { status: 500 }],
  [
    "call-500-problem",
    "500 with a problem (Spring)",
    JSON.stringify({ type: "about:blank", title: "Internal Server Error", status: 500, detail: WORDS }),
    { status: 500, type: "application/problem+json" },
  ],
  [
    "call-422-detail",
    "422 with a list (FastAPI)",
    JSON.stringify({ detail: [{ loc: ["body", "params"], msg: WORDS, type: "missing" }] }),
    { status: 422 },
  ],
  ["call-500-text", "500 with a text", WORDS, { status: 500, ...PLAIN }],
  ["call-500-untyped", "500 with a text of no type", WORDS, { status: 500, type: null }],
  ["call-403-text", "403 with a text (WAF)", WORDS, { status: 403, ...PLAIN }],
  ["call-400-text", "400 with a text (Go)", `${WORDS}\n`, { status: 400, type: "text/plain; charset=utf-8" }],
];

const CALLED: readonly OddRow[] = [
  {
    id: "call-500-rpc",
    what: "a call is answered 500 with an error",
    words: WORDS,
    odd: onCall((request) => request.error(-32603, WORDS, { status: 500 })),
  },
  ...WORDED.map(([id, what, body, how]) => ({
    id,
    what: `a call is answered ${what}`,
    words: WORDS,
    odd: onCall((request) => request.send(body, how)),
  })),
  {
    id: "call-404-no-method",
    what: "a call is answered 404 with -32601",
    words: WORDS,
    odd: onCall((request) => request.error(-32601, WORDS, { status: 404 })),
    gateway: { callFails: new RegExp(`-32601.*${WORDS}`) },
  },
  {
    id: "call-404-params",
    what: "a call is answered 404 with -32602",
    words: WORDS,
    odd: onCall((request) => request.error(-32602, WORDS, { status: 404 })),
  },
  {
    id: "call-404-stateless",
    what: "a call is answered 404 with -32601, without sessions",
    words: WORDS,
    isStateless: true,
    odd: onCall((request) => request.error(-32601, WORDS, { status: 404 })),
  },
  {
    id: "call-502-page",
    what: "a call is answered 502 with a page",
    odd: onCall((request) => request.send(PAGE, { status: 502, ...HTML })),
  },
  {
    id: "call-500-result",
    what: "a call is answered 500 with its result",
    odd: onCall((request) => request.json(request.usual, { status: 500 })),
  },
  {
    id: "call-201",
    what: "every answer is 201",
    odd: everywhere((request, usual) => request.json(usual, { status: 201 })),
  },
  { id: "call-202", what: "a call is answered 202, and no more", isSilent: true, odd: onCall(nothing(202)) },
  { id: "call-204", what: "a call is answered 204", odd: onCall(nothing(204)) },
  { id: "call-nothing", what: "a call is answered 200 with nothing", odd: onCall((request) => request.send("")) },
  { id: "call-null", what: "a call is answered 200 with null", odd: onCall((request) => request.send("null")) },
  {
    id: "call-202-result",
    what: "a call is answered 202 with its result",
    isSilent: true,
    odd: onCall((request) => request.json(request.usual, { status: 202 })),
  },
  {
    id: "begin-500",
    what: "initialize is answered 500 with an error",
    words: WORDS,
    odd: at(["initialize"], (request) => request.error(-32603, WORDS, { status: 500, id: "server-error" })),
    gateway: { saysWords: true },
  },
  {
    id: "all-401",
    what: "everything is answered 401 with a challenge",
    odd: (request) => request.send("", { status: 401, headers: CHALLENGE }),
    gateway: { missing: /answered 401/ },
  },
  {
    id: "delete-500",
    what: "the end of a session is answered 500",
    odd: at(["DELETE"], nothing(500)),
  },
];

const MOVED = [301, 302, 303, 307, 308].map((status): OddRow => ({
  id: `moved-${status}`,
  what: `${status} to the same origin, as /mcp to /mcp/`,
  odd: (request: OddRequest) => {
    const { path } = request.exchange;
    if (path.endsWith("/")) request.asUsual();
    else request.send("", { status, type: null, headers: { location: `${path}/` } });
  },
}));

const CALL_MOVED: OddRow = {
  id: "moved-call",
  what: "a call alone is answered 307 to the same origin",
  odd: onCall((request) => {
    const { path } = request.exchange;
    if (path.endsWith("/calls")) request.asUsual();
    else request.send("", { status: 307, type: null, headers: { location: `${path}/calls` } });
  }),
};

export const STATUSES: OddKind = {
  kind: "statuses",
  rows: [...PROBED, ...PROBED_OTHERWISE, ...INITIALIZED, ...CALLED, ...MOVED, CALL_MOVED],
};

// Questions to a client that declared nothing, and what GET is answered.

import type { Json } from "../../support/mcp-client.ts";
import type { OddKind, OddRow } from "./odd-row.ts";
import { at, event, everywhere, onCall, type OddRequest, type Oddity } from "./odd-request.ts";

const question = (method: string, id: unknown, params?: Json): string => event({ jsonrpc: "2.0", id, method, params });

const SAMPLING = { messages: [{ role: "user", content: { type: "text", text: "?" } }], maxTokens: 5 };
const FORM = { message: "?", requestedSchema: { type: "object", properties: {} } };

const REQUESTS: readonly (readonly [id: string, what: string, text: (request: OddRequest) => string])[] = [
  ["ping-number", "ping with a number", () => question("ping", 7)],
  ["ping-text", "ping with a text", () => question("ping", "p-1")],
  ["ping-zero", "ping with 0", () => question("ping", 0)],
  ["ping-empty", 'ping with ""', () => question("ping", "")],
  ["ping-null", "ping with null", () => question("ping", null)],
  ["ping-half", "ping with 1.5", () => question("ping", 1.5)],
  ["ping-own", "ping with the id of the call", ({ id }) => question("ping", id)],
  ["ping-params", "ping with params: null", () => `data: {"jsonrpc":"2.0","id":7,"method":"ping","params":null}\n\n`],
  ["ping-idless", "ping without an id", () => question("ping", undefined)],
  ["ask-roots", "roots/list", () => question("roots/list", 7)],
  ["ask-sampling", "sampling/createMessage", () => question("sampling/createMessage", 7, SAMPLING)],
  ["ask-form", "elicitation/create", () => question("elicitation/create", 7, FORM)],
  ["ask-unknown", "a method that nobody knows", () => question("com.example/ask", 7, { x: 1 })],
  [
    "ask-many",
    "a hundred pings",
    () => Array.from({ length: 100 }, (_, index) => question("ping", `p${index}`)).join(""),
  ],
];

/** The answer to the call comes when the question was answered, or refused. */
const waits = (method: string, params?: Json): Oddity =>
  at(["tools/call", "response"], (request) => {
    const session = String(request.exchange.headers["mcp-session-id"]);
    const { state } = request;
    if (request.name === "tools/call") {
      const exchange = request.stream(question(method, 7, params));
      state[session] = () => exchange.raw(event(request.usual)).end();
      return;
    }
    request.exchange.refuse(202);
    (state[session] as (() => void) | undefined)?.();
  });

const GOT: readonly (readonly [id: string, what: string, odd: Oddity])[] = [
  ["get-405", "405", (request) => request.exchange.refuse(405)],
  ["get-404", "404", (request) => request.exchange.refuse(404)],
  ["get-400", "400", (request) => request.exchange.refuse(400)],
  ["get-401", "401", (request) => request.exchange.refuse(401)],
  ["get-403", "403", (request) => request.exchange.refuse(403)],
  ["get-406", "406", (request) => request.exchange.refuse(406)],
  ["get-500", "500", (request) => request.exchange.refuse(500)],
  ["get-501", "501", (request) => request.exchange.refuse(501)],
  ["get-json", "200 with JSON", (request) => request.json({ status: "ok" })],
  ["get-page", "200 with a page", (request) => request.send("<html></html>", { type: "text/html" })],
  ["get-204", "204", (request) => request.exchange.refuse(204)],
  ["get-never", "never", () => {}],
  ["get-ends", "a stream that ends at once", (request) => request.stream().end()],
  ["get-ping", "a stream with a ping", (request) => void request.stream(question("ping", "g-1"))],
  ["get-beat", "a stream with a heartbeat", (request) => void request.stream('data: {"type":"heartbeat"}\n\n')],
  ["get-roots", "a stream with roots/list", (request) => void request.stream(question("roots/list", "g-1"))],
];

const rows: readonly OddRow[] = [
  ...REQUESTS.map(([id, what, text]) => ({
    id,
    what: `before the answer to a call: ${what}`,
    odd: onCall((request: OddRequest) => request.stream(text(request), event(request.usual)).end()),
  })),
  {
    id: "ping-first",
    what: "ping before the answer of initialize",
    odd: at(["initialize"], (request) => request.stream(question("ping", "p-1"), event(request.usual)).end()),
  },
  {
    id: "ping-everywhere",
    what: "ping before every answer",
    odd: everywhere((request, usual) => request.stream(question("ping", "p-1"), event(usual)).end()),
  },
  { id: "ping-waits", what: "a call waits for the answer to a ping", odd: waits("ping") },
  { id: "roots-waits", what: "a call waits for the refusal of roots/list", odd: waits("roots/list") },
  { id: "form-waits", what: "a call waits for the refusal of a form", odd: waits("elicitation/create", FORM) },
  {
    id: "ping-batch",
    what: "ping beside the answer, in a batch",
    odd: onCall((request) => request.json([{ jsonrpc: "2.0", id: 7, method: "ping" }, request.usual])),
  },
  {
    id: "answers-refused",
    what: "the answer to a ping is answered 400",
    odd: at(["tools/call", "response"], (request) => {
      if (request.name === "response") request.exchange.refuse(400);
      else request.stream(question("ping", 7), event(request.usual)).end();
    }),
  },
  ...GOT.map(([id, what, odd]) => ({ id, what: `GET is answered ${what}`, odd: at(["GET"], odd) })),
];

export const PINGS: OddKind = { kind: "pings", rows };

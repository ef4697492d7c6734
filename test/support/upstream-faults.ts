// What upstreams do that do not work, row by row: a server of era 2025 that lists one tool, `go`, and is faulty while
// its definitions are read, or while the tool is called.

import type { Json } from "./mcp-client.ts";
import type { Exchange } from "./scripted-server.ts";

export const TIMEOUT_MS = 500;

const SERVER = { name: "faulty", version: "1" };
const tool = (name: string): Json => ({ name, inputSchema: { type: "object" } });

/** A server without sessions that lists one tool, `go`, unless `faulty` has answered before. */
function lists(faulty: (exchange: Exchange) => boolean): (exchange: Exchange) => void {
  return (exchange) => {
    if (faulty(exchange)) return;
    const hello = { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: SERVER };
    if (exchange.name === "initialize") exchange.result(hello);
    else if (exchange.name === "notifications/initialized") exchange.refuse(202);
    else if (exchange.name === "tools/list") exchange.result({ tools: [tool("go")] });
    else exchange.refuse(400);
  };
}

export const at = (name: string, answer: (exchange: Exchange) => void) =>
  lists((exchange) => {
    if (exchange.name !== name) return false;
    answer(exchange);
    return true;
  });

export interface Row {
  readonly what: string;
  readonly script: (exchange: Exchange) => void;
  /** Why a list says that it lacks something. */
  readonly why: RegExp;
  /** In place of `TIMEOUT_MS`, where the answer itself takes its time. */
  readonly timeoutMs?: number;
  /** Nobody listens there. */
  readonly isClosed?: boolean;
  /** What is listed of it all the same. */
  readonly listed?: readonly string[];
}

/** A body that never falls silent and never ends. */
function drip(exchange: Exchange): void {
  exchange.stream({ "content-type": "application/json" });
  const drop = setInterval(() => exchange.raw(" "), 20);
  void exchange.closed.then(() => clearInterval(drop));
}

function twice({ message }: Exchange, result: Json): string {
  const answer = { jsonrpc: "2.0", id: message["id"], result };
  return JSON.stringify([answer, answer]);
}

const manyTools = at("tools/list", (exchange) => {
  const cursor = Number((exchange.message["params"] as Json | undefined)?.["cursor"] ?? 0);
  const tools = Array.from({ length: 250 }, (_, index) => tool(`t${cursor * 250 + index}`));
  exchange.result({ tools, ...(cursor < 39 ? { nextCursor: String(cursor + 1) } : {}) });
});

/** While its definitions are read. */
export const LISTING: readonly Row[] = [
  { what: "refuses every connection", script: () => {}, why: /connection was lost|reached/, isClosed: true },
  { what: "resets every connection", script: (exchange) => exchange.reset(), why: /connection was lost|reached/ },
  { what: "never answers", script: () => {}, why: /no answer began within 500 ms|not complete within 500 ms/ },
  { what: "answers half a head", script: (exchange) => exchange.wire("HTTP/1.1 200"), why: /within 500 ms|lost/ },
  { what: "answers 500", script: (exchange) => exchange.refuse(500), why: /answered 500/ },
  { what: "answers 503", script: (exchange) => exchange.refuse(503), why: /answered 503/ },
  { what: "answers 401", script: (exchange) => exchange.refuse(401), why: /answered 401/ },
  { what: "answers 403", script: (exchange) => exchange.refuse(403), why: /answered 403/ },
  { what: "answers 404", script: (exchange) => exchange.refuse(404), why: /answered 404/ },
  { what: "answers 429", script: (exchange) => exchange.refuse(429, { "retry-after": "60" }), why: /answered 429/ },
  {
    what: "answers with a page",
    script: (exchange) => exchange.json("<html></html>", 200, { "content-type": "text/html" }),
    why: /not MCP|answered/,
  },
  {
    what: "sends us elsewhere",
    script: (exchange) => exchange.refuse(307, { location: "http://169.254.169.254/" }),
    why: /redirects to another URL/,
  },
  {
    what: "answers with JSON that is no JSON-RPC",
    script: at("tools/list", (exchange) => exchange.json({ tools: [] })),
    why: /broke the protocol \(notJsonRpc\)/,
  },
  {
    what: "answers with half of a JSON text",
    script: at("tools/list", (exchange) => exchange.json('{"jsonrpc":"2.0","id":2,"resu')),
    why: /broke the protocol \(invalidJson\)/,
  },
  {
    what: "answers another request",
    script: at("tools/list", (exchange) => exchange.json({ jsonrpc: "2.0", id: 999, result: { tools: [] } })),
    why: /wrongId/,
  },
  {
    what: "breaks its stream in the middle",
    script: at("tools/list", (exchange) => exchange.stream().raw('data: {"jsonrpc":"2.0","id"').drop()),
    why: /lost during|unanswered|without a response|resumed/,
  },
  {
    what: "refuses to list",
    script: at("tools/list", (exchange) => exchange.error(-32603, "secret words of the server")),
    why: /^the server refused to list \(-32603\)$/,
  },
  {
    what: "answers twice",
    script: at("tools/list", (exchange) => exchange.json(twice(exchange, { tools: [tool("go")] }))),
    why: /answeredTwice/,
  },
  {
    what: "lets a body drip",
    script: at("tools/list", drip),
    why: /not complete within 500 ms/,
  },
  {
    what: "lists what is no list",
    script: at("tools/list", (exchange) => exchange.result({ tools: { go: {} } })),
    why: /has no list of tools/,
  },
  {
    what: "has a cursor that never ends",
    script: at("tools/list", (exchange) => exchange.result({ tools: [tool("go")], nextCursor: "again" })),
    why: /repeats a cursor/,
    listed: ["faulty__go"],
  },
  {
    what: "has a new cursor on every page",
    script: at("tools/list", (exchange) => {
      const { cursor = 0 } = (exchange.message["params"] ?? {}) as Json;
      exchange.result({ tools: cursor === 0 ? [tool("go")] : [], nextCursor: String(Number(cursor) + 1) });
    }),
    why: /^the list of tools has more than 200 pages$/,
    listed: ["faulty__go"],
  },
  {
    what: "has one bad definition",
    script: at("tools/list", (exchange) =>
      exchange.result({ tools: [tool("go"), { name: "bad", inputSchema: { type: "int" } }, tool("stop")] }),
    ),
    why: /^1 definition is left out: bad: inputSchema must be a schema of type object$/,
    listed: ["faulty__go", "faulty__stop"],
  },
  {
    what: "has 10,000 tools on 40 pages",
    script: manyTools,
    why: /^the server lists more than 1000 definitions; only the first 1000 are listed here$/,
    listed: Array.from({ length: 1000 }, (_, index) => `faulty__t${index}`),
  },
  {
    what: "answers with more than a message may have",
    script: at("tools/list", (exchange) => exchange.json(`"${"x".repeat(9 * 1024 * 1024)}"`)),
    why: /longer than \d+ bytes/,
  },
  {
    what: "answers with 50 MiB",
    script: at("tools/list", (exchange) => exchange.json(`"${"x".repeat(50 * 1024 * 1024)}"`)),
    why: /longer than \d+ bytes/,
    timeoutMs: 20_000,
  },
];

export interface CallRow {
  readonly what: string;
  readonly answer: (exchange: Exchange) => void;
  readonly error: Json;
  /** In place of `TIMEOUT_MS`, where the answer itself takes its time. */
  readonly timeoutMs?: number;
  /** Nobody listens there by then. */
  readonly isClosed?: boolean;
}

const faultyServer = (fault: string): Json => ({ code: -32000, data: { server: "faulty", fault } });

/** While its one tool is called. */
export const CALLING: readonly CallRow[] = [
  {
    what: "never answers",
    answer: () => {},
    error: { code: -32001, message: "Request timed out", data: { server: "faulty", timeoutMs: TIMEOUT_MS } },
  },
  {
    what: "begins to answer and stops",
    answer: (exchange) => exchange.stream().raw(": waiting\n\n"),
    error: { code: -32001, data: { server: "faulty", timeoutMs: TIMEOUT_MS } },
  },
  {
    what: "resets the connection",
    answer: (exchange) => exchange.reset(),
    error: { code: -32000, message: "Failed to connect to server", data: { server: "faulty", fault: "lost" } },
  },
  {
    what: "refuses the connection",
    answer: () => {},
    error: { code: -32000, message: "Failed to connect to server", data: { server: "faulty" } },
    isClosed: true,
  },
  {
    what: "answers half a head",
    answer: (exchange) => exchange.wire("HTTP/1.1 200"),
    error: { code: -32001, data: { server: "faulty", timeoutMs: TIMEOUT_MS } },
  },
  {
    what: "breaks its stream in the middle",
    answer: (exchange) => exchange.stream().raw('data: {"jsonrpc":"2.0","id"').drop(),
    error: { code: -32000, data: { server: "faulty" } },
  },
  {
    what: "resets its stream in the middle",
    answer: (exchange) => {
      exchange.stream().raw('data: {"jsonrpc":"2.0","id"');
      setTimeout(() => exchange.reset(), 50);
    },
    error: { code: -32000, data: { server: "faulty" } },
  },
  { what: "answers 401", answer: (exchange) => exchange.refuse(401), error: faultyServer("status") },
  { what: "answers 403", answer: (exchange) => exchange.refuse(403), error: faultyServer("status") },
  { what: "answers 404", answer: (exchange) => exchange.refuse(404), error: faultyServer("status") },
  { what: "answers 503", answer: (exchange) => exchange.refuse(503), error: faultyServer("status") },
  { what: "answers 500", answer: (exchange) => exchange.refuse(500), error: faultyServer("status") },
  { what: "answers 429", answer: (exchange) => exchange.refuse(429), error: faultyServer("status") },
  {
    what: "answers with a page",
    answer: (exchange) => exchange.json("<html></html>", 200, { "content-type": "text/html" }),
    error: faultyServer("notMcp"),
  },
  {
    what: "sends us elsewhere",
    answer: (exchange) => exchange.refuse(308, { location: "http://169.254.169.254/" }),
    error: faultyServer("redirect"),
  },
  { what: "answers no JSON-RPC", answer: (exchange) => exchange.json({ ok: true }), error: faultyServer("violation") },
  {
    what: "answers with half of a JSON text",
    answer: (exchange) => exchange.json('{"jsonrpc":"2.0","id":2,"resu'),
    error: faultyServer("violation"),
  },
  {
    what: "answers a result that is none",
    answer: (exchange) => exchange.json({ jsonrpc: "2.0", id: exchange.message["id"] as number, result: 7 }),
    error: faultyServer("violation"),
  },
  {
    what: "answers another request",
    answer: (exchange) => exchange.json({ jsonrpc: "2.0", id: 999, result: {} }),
    error: faultyServer("violation"),
  },
  {
    what: "answers twice",
    answer: (exchange) => exchange.json(twice(exchange, { content: [] })),
    error: faultyServer("violation"),
  },
  {
    what: "lets a body drip",
    answer: drip,
    error: { code: -32001, data: { server: "faulty", timeoutMs: TIMEOUT_MS } },
  },
  {
    what: "never answers, later than most calls are over,",
    answer: () => {},
    error: { code: -32001, data: { server: "faulty", timeoutMs: 5000 } },
    timeoutMs: 5000,
  },
  {
    what: "answers with 50 MiB",
    answer: (exchange) => exchange.json(`"${"x".repeat(50 * 1024 * 1024)}"`),
    error: faultyServer("tooLarge"),
    timeoutMs: 20_000,
  },
  {
    what: "answers an error",
    answer: (exchange) => exchange.error(-32055, "no"),
    error: { code: -32055, message: "no", data: { server: "faulty", originalError: { code: -32055, message: "no" } } },
  },
];

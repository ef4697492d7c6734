// What upstreams do that do not work, each beside two that do: those are listed and called as ever, and whoever calls the
// faulty one gets a clear answer in time.

import { beforeAll, afterAll, describe, expect, test } from "vitest";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { gatewayTenant, missingOf, namesIn, startGatewayWorker } from "../support/gateway-tenant.ts";
import type { Json } from "../support/mcp.ts";
import { startPlainUpstream, type PlainUpstream } from "../support/plain-upstream.ts";
import { ScriptedEndpoint, type Exchange } from "../support/scripted-endpoint.ts";

const origin = await startGatewayWorker();
const admin = fixtureAdmin(origin, "fault");
const TIMEOUT_MS = 500;

let left: PlainUpstream;
let right: PlainUpstream;

beforeAll(async () => {
  left = await startPlainUpstream({ ok: () => ({ content: [{ type: "text", text: "left" }] }) });
  right = await startPlainUpstream({ ok: () => ({ content: [{ type: "text", text: "right" }] }) });
});

afterAll(() => {
  left.close();
  right.close();
});

const SERVER = { name: "faulty", version: "1" };
const tool = (name: string): Json => ({ name, inputSchema: { type: "object" } });

/** A server of era 2025 without sessions that lists one tool, `go`, unless `faulty` has answered before. */
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

const at = (name: string, answer: (exchange: Exchange) => void) =>
  lists((exchange) => {
    if (exchange.name !== name) return false;
    answer(exchange);
    return true;
  });

interface Row {
  readonly what: string;
  readonly script: (exchange: Exchange) => void;
  /** Why a list says that it lacks something. */
  readonly why: RegExp;
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
const LISTING: readonly Row[] = [
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
    why: /sends us on to another URL/,
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
    why: /lost within|unanswered|without a response|resumed/,
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
    why: /comes back to a page/,
    listed: ["faulty__go"],
  },
  {
    what: "has one bad definition",
    script: at("tools/list", (exchange) =>
      exchange.result({ tools: [tool("go"), { name: "bad", inputSchema: { type: "int" } }, tool("stop")] }),
    ),
    why: /^1 definition is left out: bad: inputSchema is no schema of type object$/,
    listed: ["faulty__go", "faulty__stop"],
  },
  {
    what: "has 10,000 tools on 40 pages",
    script: manyTools,
    why: /^it lists more than 1000 definitions; the first 1000 are here$/,
    listed: Array.from({ length: 1000 }, (_, index) => `faulty__t${index}`),
  },
  {
    what: "answers with more than a message may have",
    script: at("tools/list", (exchange) => exchange.json(`"${"x".repeat(9 * 1024 * 1024)}"`)),
    why: /longer than \d+ bytes/,
  },
];

async function tenantBeside(script: (exchange: Exchange) => void, timeoutMs = TIMEOUT_MS) {
  const endpoint = await ScriptedEndpoint.start(script);
  const faulty = { url: endpoint.url, era: "2025", timeoutMs };
  const upstreams = { left: { url: left.url }, faulty, right: { url: right.url } };
  const tenant = await gatewayTenant(origin, admin, upstreams);
  return { tenant, endpoint };
}

type Listing = Awaited<ReturnType<typeof allTools>>;

async function allTools(client: { request(method: string, params?: Json): Promise<{ result: Json }> }) {
  const names: string[] = [];
  let missing: ReturnType<typeof missingOf> = [];
  for (let cursor: unknown; ;) {
    const { result } = await client.request("tools/list", cursor === undefined ? {} : { cursor });
    names.push(...namesIn(result));
    missing = missingOf(result);
    cursor = result["nextCursor"];
    if (cursor === undefined) return { names, missing };
  }
}

describe("beside an upstream that", () => {
  test.each(LISTING)(
    "$what, the others are listed and called, and the list says why",
    async ({ script, why, listed }) => {
      const { tenant } = await tenantBeside(script);
      const client = await tenant.client();
      const wanted: Listing = {
        names: ["left__ok", ...(listed ?? []), "right__ok"],
        missing: [{ source: "faulty", why: expect.stringMatching(why) as string }],
      };
      await expect.poll(() => allTools(client), { timeout: 20_000 }).toEqual(wanted);
      for (const side of ["left", "right"]) {
        const { result } = await client.request("tools/call", { name: `${side}__ok`, arguments: {} });
        expect(result["content"]).toEqual([{ type: "text", text: side }]);
      }
    },
  );
});

interface CallRow {
  readonly what: string;
  readonly answer: (exchange: Exchange) => void;
  readonly error: Json;
  /** In place of `TIMEOUT_MS`, where the answer itself takes its time. */
  readonly timeoutMs?: number;
}

const faultyServer = (fault: string): Json => ({ code: -32000, data: { server: "faulty", fault } });

/** While its one tool is called. */
const CALLING: readonly CallRow[] = [
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

describe("a call of an upstream that", () => {
  test.each(CALLING)(
    "$what ends with an error that says so, once and in time",
    async ({ answer, error, timeoutMs = TIMEOUT_MS }) => {
      const { tenant, endpoint } = await tenantBeside(at("tools/call", answer), timeoutMs);
      const client = await tenant.client();
      const began = Date.now();
      const reply = await client.request("tools/call", { name: "faulty__go", arguments: {} });
      // Ten times what it may take: the machine may be busy, but nobody waits for a minute.
      expect(Date.now() - began).toBeLessThan(10 * timeoutMs);
      expect(reply.error).toMatchObject(error);
      expect(endpoint.names.filter((name) => name === "tools/call")).toHaveLength(1);
      const beside = await client.request("tools/call", { name: "left__ok", arguments: {} });
      expect(beside.result["content"]).toEqual([{ type: "text", text: "left" }]);
    },
  );
});

// What the founding documents say of a gateway and their vectors do not assert: what the upstream hears, whole results, the
// order of lists, and codes. The messages are those of vectors.json, word for word.

import { afterAll, beforeAll, expect, test } from "vitest";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { fixtureOrigin } from "../support/fixture-origin.ts";
import type { Json, RpcError } from "../support/mcp-client.ts";
import { sendRaw } from "../support/raw-http.ts";
import { createExchange } from "./exchange.ts";
import { LOOSE, startFederation, type Federation } from "./federation.ts";
import { messageOf, vectorOf, type Observed } from "./vectors.ts";

const ID = "federated-whole";
const ALL = ["bare", "2024-11-05", "2025-11-25", "2026-07-28"];
/** The upstream `slow` has half a second; what a busy machine adds is no part of it. */
const WITHIN_MS = 5000;

const origin = fixtureOrigin();
const URLS: Readonly<Record<string, string>> = {
  gateway: `${origin}/gateway/${ID}`,
  federated: `${origin}/mcp/${ID}`,
};
const exchanges = new Map(Object.entries(URLS).map(([to, url]) => [to, createExchange(url)]));

let federation: Federation;
beforeAll(async () => {
  federation = await startFederation(origin, fixtureAdmin(origin, ID), ID);
});
afterAll(async () => {
  await federation.stop();
});

async function send(title: string, mode: string, message: unknown = messageOf(title)): Promise<Observed> {
  const exchange = exchanges.get(vectorOf(title).to);
  if (!exchange) throw new Error(`${title} goes elsewhere`);
  return exchange({ message }, mode);
}

function lastHeard(id: string) {
  const { requests } = federation.upstreams[id] ?? { requests: [] };
  return requests.at(-1) ?? { message: {}, body: "", headers: {} };
}

const resultOf = ({ message }: Pick<Observed, "message">) => (message?.["result"] ?? {}) as Json;
const errorOf = ({ message }: Observed) => message?.["error"] as RpcError | undefined;

/** What an upstream says of the request of ours, not of the client's: it never leaves. */
const UNSENT = new Set([-32_020, -32_021, -32_022]);

test("sends the upstream the message without its server_id, and gives back what it listed", async () => {
  const observed = await send("000:282 gateway: wrapped request", "bare");
  const { message, body } = lastHeard("postgres");
  expect(message).toMatchObject({ jsonrpc: "2.0", method: "tools/list" });
  expect(body).not.toContain("server_id");
  expect(resultOf(observed)["tools"]).toEqual([{ name: "query", inputSchema: { type: "object" } }]);
});

test("gives back the result member for member, those that nobody knows too", async () => {
  const observed = await send("000:296 gateway: response passthrough", "bare");
  expect(lastHeard("postgres").message["params"]).toMatchObject({ name: "query", arguments: { sql: "SELECT 1" } });
  expect(resultOf(observed)).toMatchObject({ content: [{ type: "text", text: "1" }], extra: { kept: true } });
});

test("says within the time limit that there is no connection", async () => {
  const began = Date.now();
  const observed = await send("000:320 gateway: connection failed", "bare");
  expect(Date.now() - began).toBeLessThan(WITHIN_MS);
  expect(errorOf(observed)).toMatchObject({ code: -32000, message: "Failed to connect to server" });
});

test("names server_id where it is missing", async () => {
  const observed = await send("000:283 gateway: wrapped message without server_id", "bare");
  expect(errorOf(observed)?.message).toContain("server_id");
});

test("passes an item that is none of the standard's as it came", async () => {
  // It is no message of the revision, so it is not held against its schema.
  const body = JSON.stringify(messageOf("000:367 content: loose resource item from an upstream"));
  const headers = { "content-type": "application/json", "mcp-protocol-version": "2025-11-25" };
  const { status, text } = await sendRaw(URLS["federated"] ?? "", { headers, body });
  expect(status).toBe(200);
  expect(resultOf({ message: JSON.parse(text) as Json })["content"]).toEqual(LOOSE["content"]);
});

test.each(ALL)("calls a tool by its own name at its own server, with the same arguments", async (mode) => {
  const observed = await send("002:415 gateway: routing by prefix", mode);
  const { message, headers } = lastHeard("github");
  expect(message).toMatchObject({
    method: "tools/call",
    params: { name: "create_issue", arguments: { title: "t" } },
  });
  expect(headers["mcp-name"]).toBe("create_issue");
  expect(resultOf(observed)["content"]).toEqual([{ type: "text", text: "created" }]);
});

test.each(ALL)("lists all of them in one order", async (mode) => {
  const names = async () => {
    const { tools } = resultOf(await send("002:433 gateway: aggregation", mode)) as { tools: { name: string }[] };
    return tools.map(({ name }) => name).filter((name) => name.startsWith("server"));
  };
  const first = await names();
  expect(first).toEqual(["serverA__tool_1", "serverA__tool_2", "serverB__tool_3"]);
  expect(await names()).toEqual(first);
});

test.each(ALL)("keeps the error of the upstream beside its own", async (mode) => {
  const data = errorOf(await send("002:441 gateway: error forwarding", mode))?.data;
  expect(data).toMatchObject({
    server: "github",
    uri: "file:///x",
    originalError: { code: -32001, message: "Tool error", data: { uri: "file:///x" } },
  });
});

test.each(["2025-11-25", "2026-07-28"])(
  "says which server was late, and how late that is, in the code of the era",
  async (mode) => {
    const began = Date.now();
    const error = errorOf(await send("003:306 request timeout (document: -32001)", mode));
    expect(Date.now() - began).toBeLessThan(WITHIN_MS);
    expect(error).toMatchObject({
      code: mode === "2026-07-28" ? -32603 : -32001,
      message: "Request timed out",
      data: { server: "slow", timeoutMs: 500 },
    });
  },
);

test("passes every code from -32000 to -32099 of an upstream to era 2025", async () => {
  const title = "004:451 codes -32000 to -32099 are server errors";
  const message = messageOf(title);
  const coded = (make: number): Json => ({
    ...message,
    params: { ...(message["params"] as Json), arguments: { make } },
  });
  for (let code = -32_000; code >= -32_099; code -= 1) {
    const observed = await send(title, "2025-11-25", coded(code));
    const error = errorOf(observed);
    if (UNSENT.has(code)) expect(UNSENT, String(code)).not.toContain(error?.code);
    else expect(error?.code).toBe(code);
    expect(error?.data).toMatchObject({ server: "github", originalError: { code, message: "As asked" } });
  }
});

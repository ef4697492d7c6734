// JSON-RPC batches exist in one revision, 2025-03-26.
// https://modelcontextprotocol.io/specification/2025-03-26/basic#batching

import { describe, expect, test } from "vitest";
import { fixtureOrigin } from "../../support/fixture-origin.ts";
import { client2025, client2026, post, REVISIONS_2025, type Json } from "../../support/mcp-client.ts";
import { expectOfficial } from "../../support/official-schema.ts";
import { sendRaw, write, type RawReply } from "../../support/raw-http.ts";
import { expectRefusal } from "../../support/refusal.ts";

const lab = `${fixtureOrigin()}/mcp/lab`;
const HEADERS = { "content-type": "application/json", accept: "application/json, text/event-stream" };
const REFUSED = { status: 400, code: -32600 };

const call = (id: unknown, method = "ping", params?: Json): Json => ({
  jsonrpc: "2.0",
  ...(id === undefined ? {} : { id }),
  method,
  ...(params === undefined ? {} : { params }),
});

function sendBatch(batch: readonly unknown[], headers: Record<string, string> = {}): Promise<RawReply> {
  return sendRaw(lab, { headers: { ...HEADERS, ...headers }, body: JSON.stringify(batch) });
}

async function sessionOf(revision: string): Promise<string> {
  const params = { protocolVersion: revision, capabilities: {}, clientInfo: { name: "test", version: "1" } };
  const { headers } = await post(lab, call(1, "initialize", params));
  return String(headers.get("mcp-session-id"));
}

const many = (count: number) => Array.from({ length: count }, (_none, at) => call(at));

test("a batch whose answers are more than a stream holds at once is answered whole, after its progress", async () => {
  const uri = `lab://${crypto.randomUUID()}`;
  const large = { name: "lab_write", arguments: { uri, text: "x".repeat(1_000_000) } };
  expect((await client2026(lab).request("tools/call", large)).error).toBeUndefined();
  const steps = { name: "lab_steps", arguments: { steps: 1, everyMs: 300 }, _meta: { progressToken: "p" } };
  const reads = Array.from({ length: 7 }, (_none, at) => call(at, "resources/read", { uri }));
  const { headers, text } = await sendBatch([...reads, call("steps", "tools/call", steps)]);
  expect(headers["content-type"]).toBe("text/event-stream");
  const notifications = text
    .split("\n")
    .flatMap((line) => (line.startsWith("data: ") ? [JSON.parse(line.slice(6)) as Json] : []));
  expect(notifications[0]).toMatchObject({ method: "notifications/progress" });
  expect(notifications.slice(1).map(({ id, result }) => [id, result !== undefined])).toEqual(
    [...reads.map(({ id }) => id), "steps"].map((id) => [id, true]),
  );
});

/** How a batch may say its revision: a session, a header, or neither, which means 2025-03-26. */
describe.each(["session", "header", "neither"])("a batch of 2025-03-26, told by %s", (by) => {
  const telling = async (): Promise<Record<string, string>> => {
    if (by === "session") return { "mcp-session-id": await sessionOf("2025-03-26") };
    return by === "header" ? { "mcp-protocol-version": "2025-03-26" } : {};
  };

  test("is answered with one response for each request, whatever else is in it", async () => {
    const batch = [
      call("a", "tools/call", { name: "lab_echo", arguments: { n: 1 } }),
      call(undefined, "notifications/initialized"),
      call(2, "nothing/here"),
      { jsonrpc: "2.0", id: 3, result: {} },
      { jsonrpc: "1.0", id: 4, method: "ping" },
      5,
      call(6, "tools/call", { name: "lab_unknown" }),
      call(7),
    ];
    const reply = await sendBatch(batch, await telling());
    expect(reply).toMatchObject({ status: 200, headers: { "content-type": "application/json" } });
    const answers = JSON.parse(reply.text) as Json[];
    for (const answer of answers) expectOfficial("2025-03-26", answer, { direction: "server" });
    const notifications = answers.map(({ id, error }) => [id, (error as Json | undefined)?.code]);
    expect(notifications).toEqual([
      ["a", undefined],
      [2, -32601],
      [4, -32600],
      [null, -32600],
      [6, -32602],
      [7, undefined],
    ]);
    expect(answers[0]?.result).toEqual({ content: [{ type: "text", text: '{"n":1}' }] });
  });

  test("has at most 50 messages", async () => {
    const headers = await telling();
    const reply = await sendBatch(many(50), headers);
    expect((JSON.parse(reply.text) as Json[]).map(({ id }) => id)).toEqual(many(50).map(({ id }) => id));
    expectRefusal(await sendBatch(many(51), headers), "2025-03-26", REFUSED);
  });

  test("of notifications only is accepted without a word", async () => {
    const batch = [call(undefined, "notifications/initialized"), call(undefined, "notifications/unknown")];
    expect(await sendBatch(batch, await telling())).toMatchObject({ status: 202, text: "" });
  });

  test("is refused when it is empty, or holds an initialize or a claim of 2026-07-28", async () => {
    const headers = await telling();
    const params = { protocolVersion: "2025-03-26", capabilities: {}, clientInfo: { name: "test", version: "1" } };
    const claimed = write("2026-07-28", "tools/list").body;
    for (const batch of [[], [call(1, "initialize", params)], [call(1), call(undefined, "initialize", params)]]) {
      expectRefusal(await sendBatch(batch, headers), "2025-03-26", REFUSED);
    }
    expectRefusal(await sendBatch([call(1), claimed], headers), "2026-07-28", REFUSED);
  });

  test("that is refused does nothing of what it holds", async () => {
    const key = crypto.randomUUID();
    const writing = call(1, "tools/call", { name: "lab_write", arguments: { uri: `lab://batches/${key}`, name: "x" } });
    expectRefusal(await sendBatch([writing, ...many(50)], await telling()), "2025-03-26", REFUSED);
    const read = await client2026(lab).request("resources/read", { uri: `lab://batches/${key}` });
    expect(read.error?.code).toBe(-32602);
  });
});

describe.each(REVISIONS_2025.filter((revision) => revision !== "2025-03-26"))("a batch of %s", (revision) => {
  test("is refused, with and without a session", async () => {
    const { revision: negotiated } = await client2025(lab, revision);
    expect(negotiated).toBe(revision);
    for (const headers of [{ "mcp-session-id": await sessionOf(revision) }, { "mcp-protocol-version": revision }]) {
      expectRefusal(await sendBatch([call(1)], headers), revision, REFUSED);
    }
  });
});

test("a batch of 2026-07-28 is refused", async () => {
  const { headers, body } = write("2026-07-28", "tools/list");
  for (const batch of [[body], [], [call(1)]]) {
    expectRefusal(await sendBatch(batch, headers), "2026-07-28", REFUSED);
  }
});

test("a batch whose header names no revision of era 2025 is refused", async () => {
  const reply = await sendBatch([call(1)], { "mcp-protocol-version": "1.0" });
  expectRefusal(reply, "2025-03-26", { status: 400, code: -32602 });
});

test("a batch in a session that does not exist is refused", async () => {
  expectRefusal(await sendBatch([call(1)], { "mcp-session-id": "none" }), "2025-03-26", { status: 404, code: -32600 });
});

import { expect, test } from "vitest";
import { fixtureOrigin } from "../../support/fixture-origin.ts";
import { connectSse, initializeSse } from "../../support/sse-connection.ts";

const lab = `${fixtureOrigin()}/mcp/lab`;
const MIB = 1024 * 1024;
/** What the connection itself takes in is not the stream's. */
const MOST_MIB = 64;

test("a client that never reads loses its stream: its open question stays, its plain calls end", async () => {
  const url = `${lab}?stream=${crypto.randomUUID()}`;
  const deaf = await connectSse(url);
  await initializeSse(deaf);
  await deaf.call("ask", "lab_ask", { kind: "form" });
  const asked = (await deaf.event("elicitation/create")).message;
  await deaf.call("plain", "lab_silent", { forMs: 1000 });
  let taken = 0;
  let status = 202;
  for (; status === 202 && taken < MOST_MIB; taken += 1) {
    ({ status } = await deaf.call(`large-${taken}`, "lab_echo", { text: "x".repeat(MIB) }));
  }
  expect(status).toBe(404);
  const back = await connectSse(url);
  const again = (await back.event("elicitation/create")).message;
  expect(again).toEqual(asked);
  await back.send({ jsonrpc: "2.0", id: asked.id, result: { action: "decline" } });
  expect((await back.event("ask")).message.result).toMatchObject({ content: [{ text: "decline" }] });
  const later = await back.soFar();
  expect(later.filter(({ id }) => id !== undefined)).toEqual([]);
});

test("a client that reads gets thirty simultaneous answers of a mebibyte", async () => {
  const { call, stream } = await connectSse(lab);
  const ids = Array.from({ length: 30 }, (_none, at) => `large-${at}`);
  const text = "x".repeat(MIB);
  const sent = Promise.all(ids.map((id) => call(id, "lab_echo", { text })));
  const answered = new Set<unknown>();
  while (answered.size < ids.length) answered.add((await stream.message()).id);
  expect(answered).toEqual(new Set(ids));
  expect(new Set((await sent).map(({ status }) => status))).toEqual(new Set([202]));
});

test("a batch counts as many calls as it has messages", async () => {
  const connection = await connectSse(lab, { headers: { "mcp-protocol-version": "2025-03-26" } });
  const batchOf = (name: string) =>
    Array.from({ length: 50 }, (_none, at) => ({
      jsonrpc: "2.0",
      id: `${name}-${at}`,
      method: "tools/call",
      params: { name: "lab_silent", arguments: { forMs: 10_000 } },
    }));
  await Promise.all(["one", "two"].map((name) => connection.send(batchOf(name))));
  expect((await connection.request("extra", "ping")).error).toMatchObject({ code: -32600 });
});

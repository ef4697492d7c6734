// What one client of HTTP+SSE can cost: one that posts and never reads loses its stream, and nothing that was asked of it.

import { expect, inject, test } from "vitest";
import { connectSse, initializeSse } from "../support/sse-connection.ts";

const lab = `${inject("fixtureOrigin")}/mcp/lab`;
const MIB = 1024 * 1024;
/** What the connection itself takes in is not the stream's. */
const MOST_MIB = 64;

test("a client that never reads loses its stream, its open question waits for it, and what ran plainly is over", async () => {
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

// A subscription that outlives its connection: opened again until the server ends or refuses it, and it says when something may
// have been missed.

import { expect, test } from "vitest";
import { listen2026, missingFrom, type ListenEvent, type ListenOptions } from "../../src/mcp-client/listen-2026.ts";
import { buildRequest2026 } from "../../src/mcp-client/prepared-request.ts";
import { ABOUT, bench, expectNothingLeft, faultOf } from "./client-setup.ts";
import { expectOfficial } from "../support/official-schema.ts";
import type { Exchange, Json } from "../support/scripted-server.ts";

expectNothingLeft();

const FILTER = { toolsListChanged: true, resourceSubscriptions: ["note://1"] };
const LISTEN = buildRequest2026({ id: "l", method: "subscriptions/listen", params: { notifications: FILTER } }, ABOUT);
const _meta = { "io.modelcontextprotocol/subscriptionId": "l" };
const note = (method: string, params: Json = {}): Json => ({ jsonrpc: "2.0", method, params: { _meta, ...params } });
const acknowledged = (notifications: Json = FILTER) =>
  note("notifications/subscriptions/acknowledged", { notifications });
const changed = note("notifications/tools/list_changed");
const ended = { jsonrpc: "2.0", id: "l", result: { resultType: "complete", _meta } };

async function listening(options: Pick<ListenOptions, "hasWorked" | "limits"> = {}) {
  const made = await bench();
  const events = listen2026(made.endpoint, LISTEN, { ...made.options, ...options });
  const next = async (): Promise<ListenEvent | undefined> => {
    const { done, value } = await events.next();
    return done === true ? undefined : value;
  };
  const nextRequest = async (): Promise<Exchange> => made.server.next("subscriptions/listen");
  /** Reads on through the pause. */
  const after = async (milliseconds: number) => {
    const reading = next();
    reading.catch(() => undefined);
    await made.clock.untilWaitsFor(milliseconds);
    made.clock.advance(milliseconds);
    return { exchange: await nextRequest(), reading: async () => reading };
  };
  return { ...made, events, next, nextRequest, after };
}

test("a subscription is a request like any other, and hears what the server agreed to", async () => {
  const { next, nextRequest, events } = await listening();
  const first = next();
  const exchange = await nextRequest();
  expectOfficial("2026-07-28", exchange.message, { direction: "client" });
  expect(exchange.headers).toMatchObject({
    "mcp-method": "subscriptions/listen",
    "mcp-protocol-version": "2026-07-28",
  });
  exchange.stream().event(acknowledged({ toolsListChanged: true }));
  expect(await first).toMatchObject({ kind: "listening", isReconnect: false, filter: { toolsListChanged: true } });
  exchange.raw(":\r\n\r\n").event(changed);
  expect(await next()).toMatchObject({ kind: "notification", message: { text: JSON.stringify(changed) } });
  await events.return?.();
  await exchange.closed;
});

test("the limit of lines goes over all connections of a subscription", async () => {
  const { events, next, nextRequest, after } = await listening({ limits: { lines: 1000, linesPerSecond: 0 } });
  const first = next();
  (await nextRequest()).stream().event(acknowledged()).raw(":\n".repeat(600)).end();
  expect(await first).toMatchObject({ kind: "listening" });
  expect(await next()).toMatchObject({ kind: "dropped" });
  const { exchange, reading } = await after(500);
  exchange.stream().event(acknowledged()).raw(":\n".repeat(600));
  expect(await reading()).toMatchObject({ kind: "listening", isReconnect: true });
  expect(await faultOf(events.next())).toMatchObject({ kind: "tooLarge", what: "stream", limitLines: 1000 });
  await exchange.closed;
});

test("a subscription that the server ends with a result is over", async () => {
  const { next, nextRequest, server } = await listening();
  const first = next();
  (await nextRequest()).stream().event(acknowledged()).event(ended).end();
  expect(await first).toMatchObject({ kind: "listening" });
  expect(await next()).toMatchObject({ kind: "ended", message: { id: "l" } });
  expect(await next()).toBeUndefined();
  expect(server.exchanges).toHaveLength(1);
});

test.each([
  { how: "ends", cut: (one: Exchange) => one.end(), fault: "unanswered" },
  { how: "breaks", cut: (one: Exchange) => one.drop(), fault: "lost" },
])("a connection that $how is made again, the same to the byte, and that is said", async ({ cut, fault }) => {
  const { next, nextRequest, after, events } = await listening();
  const first = next();
  const exchange = (await nextRequest()).stream().raw("retry: 5\n").event(acknowledged());
  await first;
  cut(exchange);
  expect(await next()).toMatchObject({ kind: "dropped", waitMs: 5, fault: { kind: fault } });
  const again = await after(5);
  expect(again.exchange.body).toBe(exchange.body);
  expect(again.exchange.headers).not.toHaveProperty("last-event-id");
  again.exchange.stream().event(acknowledged());
  expect(await again.reading()).toMatchObject({ kind: "listening", isReconnect: true, filter: FILTER });
  await events.return?.();
});

test("a subscription that held for a while is made again at the server's pace, one that did not less often", async () => {
  const { next, nextRequest, after, clock, events } = await listening();
  const first = next();
  let stream = (await nextRequest()).stream().raw("retry: 5\n").event(acknowledged());
  await first;
  for (const [openMs, afterMs] of [
    [10, 5],
    [10, 500],
    [10_000, 5],
  ] as const) {
    clock.advance(openMs);
    stream.end();
    expect(await next()).toMatchObject({ kind: "dropped", waitMs: afterMs });
    const again = await after(afterMs);
    stream = again.exchange.stream().raw("retry: 5\n").event(acknowledged());
    expect(await again.reading()).toMatchObject({ kind: "listening", isReconnect: true });
  }
  await events.return?.();
});

test("a server that is down for a while is waited for, less and less often, and as it says", async () => {
  const { next, nextRequest, after, events } = await listening();
  const first = next();
  (await nextRequest()).stream().event(acknowledged()).end();
  await first;
  expect(await next()).toMatchObject({ kind: "dropped", waitMs: 500 });
  let again = await after(500);
  again.exchange.error(-32603, "Service unavailable", 503);
  expect(await again.reading()).toMatchObject({ kind: "dropped", waitMs: 500, fault: { kind: "refused" } });
  again = await after(500);
  again.exchange.refuse(429, { "retry-after": "9" });
  expect(await again.reading()).toMatchObject({ kind: "dropped", waitMs: 9000, fault: { kind: "status" } });
  again = await after(9000);
  again.exchange.drop();
  expect(await again.reading()).toMatchObject({ kind: "dropped", waitMs: 2000 });
  again = await after(2000);
  again.exchange.stream().event(acknowledged());
  expect(await again.reading()).toMatchObject({ kind: "listening", isReconnect: true });
  await events.return?.();
});

test.each([
  { what: "refused", answer: (one: Exchange) => one.error(-32601, "Method not found", 404), kind: "refused" },
  { what: "unavailable", answer: (one: Exchange) => one.refuse(503), kind: "status" },
  { what: "ended before it began", answer: (one: Exchange) => one.stream().end(), kind: "unanswered" },
  { what: "cut before it began", answer: (one: Exchange) => one.drop(), kind: "lost" },
  { what: "refused on a stream", answer: (one: Exchange) => one.stream().event(refusal()).end(), kind: "refused" },
  {
    what: "answered with a page",
    answer: (one: Exchange) => one.json("<h1>", 200, { "content-type": "text/html" }),
    kind: "notMcp",
  },
])("a subscription that is $what from the first is not tried again", async ({ answer, kind }) => {
  const { nextRequest, events, server } = await listening();
  const reading = faultOf(events.next());
  answer(await nextRequest());
  expect(await reading).toMatchObject({ kind });
  expect(server.exchanges).toHaveLength(1);
});

test("a subscription that has worked before is tried again from the first", async () => {
  const { next, nextRequest, after, events } = await listening({ hasWorked: true });
  const first = next();
  (await nextRequest()).drop();
  expect(await first).toMatchObject({ kind: "dropped", waitMs: 500 });
  const again = await after(500);
  again.exchange.stream().event(acknowledged());
  expect(await again.reading()).toMatchObject({ kind: "listening", isReconnect: false });
  await events.return?.();
});

test.each([
  { what: "refuses", answer: (one: Exchange) => one.error(-32600, "Permission denied", 403), kind: "refused" },
  { what: "wants a credential", answer: (one: Exchange) => one.refuse(401), kind: "status" },
  { what: "breaks the protocol", answer: (one: Exchange) => one.json("{"), kind: "violation" },
])("a subscription ends where the server $what later", async ({ answer, kind }) => {
  const { next, nextRequest, after } = await listening();
  const first = next();
  (await nextRequest()).stream().event(acknowledged()).end();
  await first;
  await next();
  const again = await after(500);
  answer(again.exchange);
  expect(await faultOf(again.reading())).toMatchObject({ kind });
});

test("a notification before the acknowledgement breaks the protocol", async () => {
  const { nextRequest, events } = await listening();
  const reading = faultOf(events.next());
  (await nextRequest()).stream().event(changed);
  expect(await reading).toMatchObject({ kind: "violation", rule: "notAcknowledged" });
});

test("a request of the server on a subscription is passed over", async () => {
  const { next, nextRequest, events } = await listening();
  const first = next();
  const exchange = (await nextRequest())
    .stream()
    .event({ jsonrpc: "2.0", id: "q", method: "ping" })
    .event(acknowledged());
  expect(await first).toMatchObject({ kind: "listening" });
  exchange.event(changed);
  expect(await next()).toMatchObject({ kind: "notification" });
  await events.return?.();
});

test("the caller's signal ends a subscription quietly, in a pause and in a read", async () => {
  for (const isOpen of [true, false]) {
    const { next, nextRequest, abort } = await listening();
    const first = next();
    const exchange = (await nextRequest()).stream().event(acknowledged());
    await first;
    if (!isOpen) exchange.end();
    if (!isOpen) await next();
    const reading = next();
    abort.abort();
    expect(await reading).toBeUndefined();
    await exchange.closed;
  }
});

test("a subscription that nobody reads sends nothing", async () => {
  const { events, server } = await listening();
  await events.return?.();
  expect(server.exchanges).toEqual([]);
});

test.each([
  { agreed: FILTER, missing: [] },
  { agreed: {}, missing: ["toolsListChanged", "note://1"] },
  {
    agreed: { toolsListChanged: false, promptsListChanged: true, resourceSubscriptions: ["note://1"] },
    missing: ["toolsListChanged"],
  },
  { agreed: { toolsListChanged: true, resourceSubscriptions: ["note://2"] }, missing: ["note://1"] },
])("a server that agreed to $agreed misses $missing", ({ agreed, missing }) => {
  expect(missingFrom(agreed, FILTER)).toEqual(missing);
});

function refusal(): Json {
  return { jsonrpc: "2.0", id: "l", error: { code: -32600, message: "No" } };
}

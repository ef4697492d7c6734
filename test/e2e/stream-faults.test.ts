// Durable Objects lose their memory and their sockets again and again, as in a deployment, while calls run and streams are
// open: nothing is lost, and of a call nothing comes twice. Two Workers over one storage; clients resume in either.

import { setTimeout as wait } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { ResumableCall } from "../support/resumable-call.ts";
import { client2025, client2026, post, type Client, type Json } from "../support/mcp-client.ts";
import { listen2025, reopen2025, STREAM_KINDS, type Listening } from "../support/notification-streams.ts";
import { startWorkerPair, type WorkerPair } from "../support/worker-pair.ts";

const CRASH_EVERY_MS = 200;
const SESSIONS = 3;
const CALLS_EACH = 4;
const REPORTS = 20;
const EVERY_MS = 50;
/** A client that loses its connection after so many reports. */
const REPORTS_EACH_STREAM = 6;
const UPDATED = "notifications/resources/updated";

let workers: WorkerPair;
beforeAll(async () => {
  workers = await startWorkerPair();
});
afterAll(() => workers.stop());

const urlOf = (at: number) => `${workers.both[at % 2]?.origin}/mcp/lab`;

/** Resets every object, again and again, until the work is done; says how often. */
async function duringCrashes<T>(work: Promise<T>): Promise<{ readonly done: T; readonly crashes: number }> {
  const over = work.then(() => true);
  let crashes = 0;
  do {
    await workers.crash();
    crashes += 1;
  } while (!(await Promise.race([over, wait(CRASH_EVERY_MS, false)])));
  return { done: await work, crashes };
}

/** Its first stream is in one Worker, the next one in the other, and so on. */
async function runReport(client: Client, at: number): Promise<ResumableCall> {
  const params = {
    name: "lab_report",
    arguments: { reports: REPORTS, everyMs: EVERY_MS },
    _meta: { progressToken: `token-${at}` },
  };
  const call = await ResumableCall.begin(urlOf(at), client, { id: `call-${at}`, params });
  for (;;) {
    const message = await call.next();
    if (message && "result" in message) return call;
    if (!message || call.events.length % REPORTS_EACH_STREAM === 0) await call.resume(urlOf(at + call.streams));
  }
}

async function write(at: number, uri: string, text: string): Promise<void> {
  const { result } = await client2026(urlOf(at)).request("tools/call", { name: "lab_write", arguments: { uri, text } });
  expect(result).toMatchObject({ content: [{ type: "text" }] });
  expect(result).not.toHaveProperty("isError");
}

/** The URIs that are told until this one is. */
async function updatesUntil(stream: Listening, last: string): Promise<string[]> {
  const uris: string[] = [];
  while (uris.at(-1) !== last) {
    const { params } = await stream.nextNotification(UPDATED);
    uris.push(String((params as Json).uri));
  }
  return uris;
}

const freshUris = (many: number) => {
  const key = crypto.randomUUID();
  return Array.from({ length: many }, (_none, at) => `lab://faults/${key}/${at}`);
};

test("resumable calls say every event once and in order, and end with one result each, while objects are reset all the time", async () => {
  const sessions = await Promise.all(Array.from({ length: SESSIONS }, (_none, at) => client2025(urlOf(at))));
  const calls = sessions.flatMap((client, session) =>
    Array.from({ length: CALLS_EACH }, (_none, at) => runReport(client, session * CALLS_EACH + at)),
  );
  const { done, crashes } = await duringCrashes(Promise.all(calls));
  expect(crashes).toBeGreaterThan(1);
  for (const [at, { events, streams }] of done.entries()) {
    const reports = Array.from({ length: REPORTS }, (_none, report) => report + 1);
    expect(events.map(({ message }) => message)).toEqual([
      ...reports.map((progress) => ({
        jsonrpc: "2.0",
        method: "notifications/progress",
        params: { progressToken: `token-${at}`, progress, total: REPORTS },
      })),
      { jsonrpc: "2.0", id: `call-${at}`, result: { content: [{ type: "text", text: `${REPORTS} reports` }] } },
    ]);
    expect(new Set(events.map(({ id }) => id)).size).toBe(REPORTS + 1);
    expect(streams).toBeGreaterThan(REPORTS / REPORTS_EACH_STREAM);
  }
});

test("a resumable call whose session cannot be reached is refused under its own id", async () => {
  const { one } = workers;
  const client = await client2025(urlOf(0));
  await one.cutOff("SessionObject");
  onTestFinished(() => one.reconnect("SessionObject"));
  const params = { name: "lab_report", arguments: { reports: 1, everyMs: 0 } };
  const refused = await post(
    urlOf(0),
    { jsonrpc: "2.0", id: "mine", method: "tools/call", params },
    { headers: client.headers },
  );
  expect(refused).toMatchObject({ status: 503, id: "mine", error: { code: -32603 } });
});

const faults = [
  { fault: "every object was reset", strike: () => workers.crash() },
  { fault: "every object was evicted and its sockets closed", strike: () => workers.evict() },
  { fault: "every object hibernates", strike: () => workers.evict({ webSockets: "hibernate" }) },
];

describe.each(faults)("after $fault", ({ strike }) => {
  test.each(STREAM_KINDS)("an update still reaches $kind, again and again", async ({ listen }) => {
    const uris = freshUris(2);
    const streams = await Promise.all([listen(urlOf(0), uris), listen(urlOf(1), uris)]);
    onTestFinished(async () => {
      await Promise.all(streams.map(({ events }) => events.close()));
    });
    for (const [at, uri] of uris.entries()) {
      await strike();
      await write(at, uri, uri);
      await Promise.all(streams.map((stream) => stream.nextNotification(UPDATED, uri)));
    }
  });

  test("a stream that comes back with its last event's id is told what was written while it was away, and no more", async () => {
    const [before = "", meanwhile = "", after = "", other = ""] = freshUris(4);
    const stream = await listen2025(urlOf(0), [before, meanwhile, after]);
    await write(1, before, "before");
    await stream.nextNotification(UPDATED, before);
    await stream.events.close();
    await write(1, meanwhile, "meanwhile");
    await write(0, other, "not subscribed to");
    await strike();
    const again = await reopen2025(urlOf(1), stream.client, stream.lastEventId());
    onTestFinished(() => again.events.close());
    await write(0, after, "after");
    expect(await updatesUntil(again, after)).toEqual([meanwhile, after]);
  });

  test("a session still has its log level and its subscriptions", async () => {
    const [kept = "", dropped = ""] = freshUris(2);
    const client = await client2025(urlOf(0));
    await client.request("logging/setLevel", { level: "warning" });
    for (const uri of [kept, dropped]) await client.request("resources/subscribe", { uri });
    await client.request("resources/unsubscribe", { uri: dropped });
    await strike();
    const { messages } = await client.request("tools/call", { name: "lab_steps", arguments: { steps: 4 } });
    const levels = messages.filter(({ method }) => method === "notifications/message").map(({ params }) => params);
    expect(levels).toMatchObject([{ level: "warning" }, { level: "warning" }]);
    await strike();
    const stream = await reopen2025(urlOf(1), client);
    onTestFinished(() => stream.events.close());
    await write(0, dropped, "unsubscribed");
    await write(0, kept, "subscribed");
    expect(await updatesUntil(stream, kept)).toEqual([kept]);
  });
});

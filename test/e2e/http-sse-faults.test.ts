// HTTP+SSE while objects lose their memory and their sockets, cannot be reached, or die with their Worker: what a client
// posts is answered once on its stream, or refused at its POST. Two Workers over one storage: the first holds the stream,
// the second takes what is posted.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { client2026, type Json } from "../support/mcp-client.ts";
import { connectSse, initializeSse, type SseConnection } from "../support/sse-connection.ts";
import { startWorkerPair, type WorkerPair } from "../support/worker-pair.ts";

const CRASH_EVERY_MS = 200;
const AT_ONCE = 12;
const TURNS = 3;
const YES = { action: "accept", content: { yes: true } };

let storage: string;
let workers: WorkerPair;
beforeAll(async () => {
  storage = await mkdtemp(join(tmpdir(), "tenantry-http-sse-"));
  workers = await startWorkerPair({}, storage);
});
afterAll(async () => {
  await workers.stop();
  await rm(storage, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
});

const urlOf = (query = "") => `${workers.one.origin}/mcp/lab${query}`;

async function connect(query = "", headers: Record<string, string> = {}): Promise<SseConnection> {
  return connectSse(urlOf(query), { headers, postsTo: `${workers.two.origin}/mcp/lab` });
}

/** As an EventSource does it: a stream that ends before it said anything is asked for again. */
async function comeBack(lastEventId: string): Promise<SseConnection> {
  for (;;) {
    const connection = await connect("", { "last-event-id": lastEventId }).catch((error: unknown) => {
      if (!String(error).includes("answered 200")) throw error;
    });
    if (connection) return connection;
  }
}

/** Resets every object, again and again, until the work is done. */
async function duringCrashes(work: Promise<unknown>): Promise<void> {
  const over = work.then(() => true);
  do await workers.crash();
  while (!(await Promise.race([over, wait(CRASH_EVERY_MS, false)])));
}

/** How often each id was answered, and a way to wait for one. */
function answersOn({ stream }: SseConnection) {
  const counts = new Map<unknown, number>();
  const waiting = new Map<unknown, () => void>();
  const reading = (async () => {
    for (let event = await stream.next(); event; event = await stream.next()) {
      const message = JSON.parse(event.data) as Json;
      if (message.method !== undefined) continue;
      counts.set(message.id, (counts.get(message.id) ?? 0) + 1);
      waiting.get(message.id)?.();
    }
  })();
  const answered = (id: unknown) =>
    counts.has(id) ? Promise.resolve() : new Promise<void>((resolve) => waiting.set(id, resolve));
  return { counts, answered, reading };
}

async function payments(key: string): Promise<number> {
  const args = { prefix: `lab://payments/${key}/` };
  const { result } = await client2026(urlOf()).request("tools/call", { name: "lab_list", arguments: args });
  return (JSON.parse(String((result.content as Json[])[0]?.["text"])) as unknown[]).length;
}

describe("while every object is reset all the time", () => {
  test("each call of a connected client is answered once, or refused at its POST and not answered", async () => {
    const connection = await connect();
    await initializeSse(connection);
    const { counts, answered } = answersOn(connection);
    const refused: string[] = [];
    const callAll = Array.from({ length: AT_ONCE }, async (_none, at) => {
      for (let turn = 0; turn < TURNS; turn += 1) {
        const id = `${at}-${turn}`;
        const { status } = await connection.call(id, "lab_silent", { forMs: 20 * at });
        if (status === 202) await answered(id);
        else refused.push(id);
      }
    });
    await duringCrashes(Promise.all(callAll));
    counts.delete("hello");
    expect(new Set(counts.values())).toEqual(new Set([1]));
    expect(counts.size + refused.length).toBe(AT_ONCE * TURNS);
    expect(refused.filter((id) => counts.has(id))).toEqual([]);
  });

  test("a resumable call is shown from its beginning to its end, each event once, on the stream that stayed", async () => {
    const connection = await connect();
    await initializeSse(connection);
    const shown = (async () => {
      const args = { reports: 20, everyMs: 50 };
      expect((await connection.call("report", "lab_report", args, { progressToken: "p" })).status).toBe(202);
      const answer: Json[] = [];
      while (answer.at(-1)?.id !== "report") answer.push(await connection.stream.message());
      return answer;
    })();
    await duringCrashes(shown);
    const result = (await shown).slice(0, -1);
    const reports = result.filter(({ method }) => method === "notifications/progress");
    // A stream whose hub was lost is told to list again, too, and nothing else.
    const others = result.filter((one) => !reports.includes(one)).map(({ method }) => method);
    expect(others.filter((method) => !/^notifications\/\w+\/list_changed$/.test(String(method)))).toEqual([]);
    const progress = reports.map(({ params }) => (params as Json)["progress"]);
    expect(progress).toEqual(Array.from({ length: 20 }, (_none, at) => at + 1));
  });

  test("a client that loses its stream again and again goes on by its last event's id, with every event once", async () => {
    const reports = 20;
    const ids = Array.from({ length: 3 }, (_none, at) => `report-${at}`);
    const answer: Json[] = [];
    let connection = await connect();
    let last = connection.endpointId;
    await initializeSse(connection);
    for (const id of ids) await connection.call(id, "lab_report", { reports, everyMs: 50 }, { progressToken: id });
    const isOver = () => answer.filter(({ id }) => ids.includes(String(id))).length === ids.length;
    const followAll = async () => {
      for (let seen = 0; !isOver(); seen += 1) {
        const event = await connection.stream.next().catch(() => undefined);
        if (event?.id !== undefined) last = event.id;
        if (event && event.event !== "endpoint") answer.push(JSON.parse(event.data) as Json);
        if (event && seen % 12 < 11) continue;
        await connection.stream.close();
        connection = await comeBack(last);
      }
    };
    await duringCrashes(followAll());
    for (const id of ids) {
      const own = answer.filter((one) => one.id === id || (one.params as Json | undefined)?.["progressToken"] === id);
      const progress = own.map(({ params }) => (params as Json | undefined)?.["progress"]);
      expect(progress).toEqual([...Array.from({ length: reports }, (_none, at) => at + 1), undefined]);
    }
  });
});

const faults = [
  { fault: "every object was reset", strike: () => workers.crash() },
  { fault: "every object was evicted and its sockets closed", strike: () => workers.evict() },
  { fault: "every object hibernates", strike: () => workers.evict({ webSockets: "hibernate" }) },
];

test.each(faults)(
  "after $fault the stream that is held takes what is posted, questions and answers too",
  async ({ strike }) => {
    const connection = await connect();
    await initializeSse(connection);
    for (const id of [1, 2]) {
      await strike();
      await connection.call(id, "lab_ask", { kind: "form" });
      const { message } = await connection.event("elicitation/create");
      await strike();
      expect((await connection.send({ jsonrpc: "2.0", id: message.id, result: YES })).status).toBe(202);
      expect((await connection.event(id)).message.result).toMatchObject({ content: [{ text: '{"yes":true}' }] });
    }
  },
);

describe("a session's object that cannot be reached", () => {
  async function cut(worker: "one" | "two"): Promise<void> {
    await workers[worker].cutOff("SessionObject");
    onTestFinished(() => workers[worker].reconnect("SessionObject"));
  }

  test("from the Worker that takes a POST refuses it under its id, with a status that its client understands", async () => {
    const connection = await connect();
    await cut("two");
    const { status, id, error, headers } = await connection.send({ jsonrpc: "2.0", id: "mine", method: "ping" });
    expect({ status, id, code: error?.code }).toEqual({ status: 503, id: "mine", code: -32603 });
    expect(headers.get("retry-after")).toBe("5");
  });

  test.each([
    ["stored call", "tools/call", { name: "lab_report", arguments: { reports: 1, everyMs: 0 } }],
    [
      "initialize",
      "initialize",
      { protocolVersion: "2024-11-05", capabilities: {}, clientInfo: { name: "t", version: "1" } },
    ],
  ])("from the Worker that holds the stream is the answer to a %s, under its id", async (_what, method, params) => {
    const connection = await connect();
    await cut("one");
    expect((await connection.request("mine", method, params)).error).toMatchObject({ code: -32603 });
    expect(await connection.request("other", "ping")).toHaveProperty("result");
  });

  test("refuses a stream with a status that says to come again", async () => {
    await cut("one");
    const { status, headers } = await fetch(urlOf(), { headers: { accept: "text/event-stream" } });
    expect([status, headers.get("retry-after"), headers.get("content-type")]).toEqual([503, "5", "application/json"]);
  });
});

describe("a deployment, which kills every process", () => {
  async function deploy(): Promise<void> {
    await workers.stop();
    workers = await startWorkerPair({}, storage);
  }

  test.each([
    ["by the id of its last event", (id: string) => connect("", { "last-event-id": id })],
    ["by its name", (_id: string, query: string) => connect(query)],
  ])("is survived by a call that waits for a person, whose client comes back %s", async (_what, back) => {
    const [query, key] = [`?stream=${crypto.randomUUID()}`, crypto.randomUUID()];
    const before = await connect(query);
    await initializeSse(before);
    await before.call("pay", "lab_pay", { key });
    const sure = await before.event("elicitation/create");
    await deploy();
    const between = await back(sure.id, query);
    expect((await between.send({ jsonrpc: "2.0", id: sure.message.id, result: YES })).status).toBe(202);
    const isThanks = ({ id, method }: Json) => method === "elicitation/create" && id !== sure.message.id;
    const thanks = await between.stream.message(isThanks);
    await deploy();
    const after = await connect(query);
    await after.send({ jsonrpc: "2.0", id: thanks.id, result: YES });
    expect((await after.event("pay")).message.result).toMatchObject({
      content: [{ text: expect.stringContaining("receipt") }],
    });
    expect(await payments(key)).toBe(1);
    // What was agreed is still known: the client need not initialize again, and can still be asked.
    await after.call("ask", "lab_ask", { kind: "roots" });
    expect((await after.event("roots/list")).message).toHaveProperty("id");
  });
});

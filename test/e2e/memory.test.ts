// What clients that send nothing and read nothing cost a Worker: no more memory than as many honest large calls at once, and
// nobody else their answer.

import { setTimeout as wait } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { collectHeap } from "../support/heap-after-gc.ts";
import { residentOf, startedWorkers } from "../support/process-memory.ts";
import { write } from "../support/raw-http.ts";
import { SlowClient, statusIn } from "../support/slow-client.ts";
import { sized } from "../support/tier.ts";
import { bundleWorker, startWorker, type OneWorker, type WorkerModule } from "../support/start-worker.ts";

const MIB = 1024 * 1024;
const EACH = sized({ usual: 12, long: 200 });
/** The process takes memory from the kernel then, and uses it again afterwards. */
const WARMING = sized({ usual: 2, long: 3 });
const ROUNDS = 3;
/** In src it is ten seconds. */
const STALL_MS = 3000;
/** The machine may be busy. */
const ROUND_MS = 90_000;
const LOOKS = 10;
const MORE_MIB = 64;
/** Objects, KV, several isolates and what is not collected yet; all that was sent and not read would be 1.5 GiB. */
const MOST_MIB = 768;
/** The same in a round in which the platform collects late. */
const MOST_ONCE_MIB = 1024;
/** As many bodies of 4 MiB as an isolate has room for. */
const HONEST = 16;

let worker: OneWorker;
let pid: number;
beforeAll(async () => {
  const before = startedWorkers();
  worker = await startWorker(impatient(await bundleWorker("worker")), { inspected: true });
  pid = startedWorkers().find((one) => !before.includes(one)) ?? 0;
  expect(residentOf(pid)).toBeGreaterThan(10);
});
afterAll(() => worker.stop());

/** The Worker with a shorter wait for a sender that says nothing. */
function impatient(modules: readonly WorkerModule[]): WorkerModule[] {
  const [main, ...others] = modules;
  if (!main?.contents.includes("stallMs: 1e4")) throw new Error("no stallMs of ten seconds in the Worker");
  return [{ ...main, contents: main.contents.replaceAll("stallMs: 1e4", `stallMs: ${STALL_MS}`) }, ...others];
}

const echoOf = (size: number) => ({ name: "lab_echo", arguments: { text: "x".repeat(size) } });

function call(size: number, accept = "application/json, text/event-stream", path = "/mcp/lab") {
  const { headers, body } = write("2025-11-25", "tools/call", echoOf(size));
  return new SlowClient(`${worker.origin}${path}`, { headers: { ...headers, accept }, body: JSON.stringify(body) });
}

/** Whole bodies, whose answers are read: they come at once and end. */
async function honest(): Promise<void> {
  const { headers, body } = write("2025-11-25", "tools/call", echoOf(3.5 * MIB));
  const init = { method: "POST", headers, body: JSON.stringify(body) };
  const calls = Array.from({ length: HONEST }, async () => (await fetch(`${worker.origin}/mcp/lab`, init)).text());
  await Promise.all(calls);
}

function stalled(at: number): SlowClient {
  const path = ["/mcp/lab", `/mcp/nobody-${at}`, "/mcp/founding", "/mcp/lab?sessionId=x"][at % 4] ?? "";
  const { headers } = write(at % 2 === 0 ? "2025-11-25" : "2026-07-28", "tools/list");
  const body = " ".repeat(4 * MIB - 100);
  return new SlowClient(`${worker.origin}${path}`, {
    headers,
    body: at % 8 === 0 ? "" : body,
    declared: at % 3 === 0 ? null : 4 * MIB,
  });
}

async function unread(at: number): Promise<SlowClient> {
  if (at % 4 < 2) return call(2 * MIB, at % 4 === 0 ? "application/json" : "text/event-stream");
  if (at % 4 === 2) {
    const { headers, body } = write("2026-07-28", "subscriptions/listen", {
      notifications: { toolsListChanged: true },
    });
    return new SlowClient(`${worker.origin}/mcp/lab`, { headers, body: JSON.stringify(body) });
  }
  return deafHolder();
}

/** A client of HTTP+SSE that has large answers written to its stream, and stops reading once it knows where to post. */
async function deafHolder(): Promise<SlowClient> {
  const headers = { accept: "text/event-stream" };
  const stream = new SlowClient(`${worker.origin}/mcp/lab`, { method: "GET", headers });
  const [, endpoint] = /data: (\S+sessionId=\S+)/.exec(await stream.until("sessionId=")) ?? [];
  stream.pause();
  if (endpoint === undefined) return stream;
  const posts = Array.from({ length: 10 }, () => call(MIB, "*/*", endpoint));
  await Promise.all(posts.map((post) => Promise.race([post.until("HTTP/1.1"), wait(2000)])));
  for (const post of posts) post.leave();
  return stream;
}

async function pinged(): Promise<number> {
  const { headers, body } = write("2025-11-25", "ping");
  const client = new SlowClient(`${worker.origin}/mcp/lab`, { headers, body: JSON.stringify(body) });
  const text = await client.until("jsonrpc");
  client.leave();
  return statusIn(text);
}

const middleOf = (numbers: readonly number[]) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;

/** What is left then, in MiB: what the look itself took is given back a moment later. */
async function collected(): Promise<number> {
  await collectHeap(worker);
  let least = Infinity;
  for (let looks = 0; looks < LOOKS; looks += 1) {
    least = Math.min(least, residentOf(pid));
    await wait(200);
  }
  return least;
}

interface Round {
  /** In MiB, collected or not. */
  readonly highest: number;
  /** In MiB, when all of them left: collected, so that it is what is kept, and not what nobody collected yet. */
  readonly left: number;
}

test(
  "slow senders and deaf readers cost no more than a few honest large calls, and keep nobody from a small one",
  async () => {
    for (let round = 0; round < 4; round += 1) await honest();
    await collected();
    const statuses = new Set<number>();
    const round = async (): Promise<Round> => {
      const until = Date.now() + ROUND_MS;
      const bodies = Array.from({ length: EACH }, (_none, at) => stalled(at).listen());
      const streams = Promise.all(Array.from({ length: EACH }, (_none, at) => unread(at)));
      const over = () => bodies.filter(({ isOver }) => isOver).length;
      let highest = 0;
      while (over() < EACH && Date.now() < until) {
        highest = Math.max(highest, residentOf(pid));
        statuses.add(await pinged());
        await wait(200);
      }
      expect(over()).toBe(EACH);
      for (const client of [...bodies, ...(await streams)]) client.leave();
      return { highest, left: await collected() };
    };
    const rounds: Round[] = [];
    for (let at = 0; at < WARMING + ROUNDS; at += 1) {
      rounds.push(await round());
      process.stdout.write(`memory of workerd, round ${at + 1}: ${JSON.stringify(rounds.at(-1))} MiB\n`);
    }
    const peaks = rounds.map(({ highest }) => highest);
    const left = rounds.map((one) => one.left);
    // What is kept is in every round after it.
    expect(middleOf(left.slice(WARMING))).toBeLessThan(Math.max(...left.slice(0, WARMING)) + MORE_MIB);
    expect(middleOf(peaks)).toBeLessThan(MOST_MIB);
    expect(Math.max(...peaks)).toBeLessThan(MOST_ONCE_MIB);
    expect([...statuses]).toEqual([200]);
  },
  (WARMING + ROUNDS) * 2 * ROUND_MS,
);

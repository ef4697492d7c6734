// 500 upstreams over 100 tenants that are all due at once, asked for through two isolates by several callers each: every
// upstream is read by one of them, once, with one request at a time.

import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startWorkerPair, type WorkerPair } from "../support/worker-pair.ts";

const TENANTS = 100;
const EACH = 5;
const CALLERS = 3;
/** Nothing is due by itself meanwhile. */
const TTL_MS = 3_600_000;
/** How long a read takes at the least: those that begin together are under way together. */
const SLOW_MS = 200;

interface Seen {
  /** How often its tools were listed. */
  lists: number;
  now: number;
  /** The most requests that were under way at the same moment. */
  most: number;
}

/** Servers of era 2026, one for each path. */
class Peer {
  readonly seen = new Map<string, Seen>();
  /** Requests under way, at all upstreams together. */
  #now = 0;
  #most = 0;
  readonly #server = createServer((request, response) => void this.#answer(request, response));

  async start(): Promise<string> {
    this.#server.listen(0, "127.0.0.1", 4096);
    await once(this.#server, "listening");
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get most(): number {
    return this.#most;
  }

  get lists(): readonly number[] {
    return [...this.seen.values()].map(({ lists }) => lists);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? "";
    const seen = this.seen.get(path) ?? { lists: 0, now: 0, most: 0 };
    this.seen.set(path, seen);
    this.#now += 1;
    this.#most = Math.max(this.#most, this.#now);
    seen.now += 1;
    seen.most = Math.max(seen.most, seen.now);
    const { id, method } = JSON.parse(await text(request)) as { id: unknown; method: string };
    if (method === "tools/list") seen.lists += 1;
    await new Promise((resolve) => setTimeout(resolve, SLOW_MS));
    const kept = { resultType: "complete", ttlMs: TTL_MS, cacheScope: "public" };
    const result =
      method === "server/discover"
        ? { ...kept, supportedVersions: ["2026-07-28"], capabilities: { tools: {} } }
        : { ...kept, tools: [{ name: "go", inputSchema: { type: "object" } }] };
    seen.now -= 1;
    this.#now -= 1;
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

/** Of a Worker with many tools of its own, what comes from upstreams alone. */
const DOCUMENT = { mode: "open", maxStalenessMs: 50, profiles: { up: { tools: { allow: ["up*"] } } } };

const ids = Array.from({ length: TENANTS }, (_none, at) => `crowd-${at}`);
const PATIENCE_MS = 240_000;

const peer = new Peer();
let workers: WorkerPair;
beforeAll(async () => {
  const url = await peer.start();
  workers = await startWorkerPair({ OUTBOUND_LOCAL: "http://127.0.0.1" });
  for (const id of ids) {
    const upstreams = Object.fromEntries(
      Array.from({ length: EACH }, (_none, at) => [`up${at}`, { url: `${url}/${id}/${at}`, era: "2026" }]),
    );
    await workers.one.admin("POST", "/tenants", { id, document: { ...DOCUMENT, upstreams } });
  }
});
afterAll(async () => {
  await workers.stop();
  peer.stop();
});

/** How many upstreams' tools a tenant lists. */
async function listed(origin: string, id: string): Promise<number> {
  const answer = await fetch(`${origin}/mcp/${id}/up`, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: {} }),
  });
  // An answer that takes long comes as the event of a stream.
  const body = await answer.text();
  const data = body.startsWith("{") ? body : (/^data: (\{.*)$/m.exec(body)?.[1] ?? "{}");
  const { result } = JSON.parse(data) as { result?: { tools: { name: string }[] } };
  return (result?.tools ?? []).filter(({ name }) => name.endsWith("__go")).length;
}

async function askAll(callers: number): Promise<readonly number[]> {
  const asking = ids.map((id) =>
    workers.both.flatMap(({ origin }) => Array.from({ length: callers }, () => listed(origin, id))),
  );
  return Promise.all(asking.flat());
}

const COUNT = TENANTS * EACH;
const each = (count: number) => Array.from({ length: COUNT }, () => count);
/** No upstream has a second request beside the first. */
function expectNoHerd(): void {
  expect([...peer.seen.values()].map(({ most }) => most)).toEqual(each(1));
  expect(peer.most).toBeLessThanOrEqual(COUNT);
}

test("a crowd that comes at once has each upstream read once", async () => {
  const begun = performance.now();
  await askAll(CALLERS);
  const isRead = () => peer.lists.filter((count) => count > 0).length;
  // What a request begins to read, it begins within ten seconds: on a machine that is slower, the next one goes on.
  const readAfterNext = async () => {
    if (isRead() < COUNT) await askAll(1);
    return isRead();
  };
  await expect.poll(readAfterNext, { timeout: PATIENCE_MS, interval: 500 }).toBe(COUNT);
  const took = Math.round(performance.now() - begun);
  // Whoever looks next finds what was read, at both isolates.
  await expect
    .poll(async () => new Set(await askAll(1)), { timeout: PATIENCE_MS, interval: 2000 })
    .toEqual(new Set([EACH]));
  expect(peer.lists).toEqual(each(1));
  expectNoHerd();
  console.log(`${COUNT} upstreams were read within ${took} ms, at most ${peer.most} at the same moment`);
});

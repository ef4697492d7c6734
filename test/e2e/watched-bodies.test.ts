// A small body that does not come is ended ten seconds after it began, whoever else is there: nobody, a client that has left,
// one that was answered long ago, or a hundred of the same kind. In workerd, where no timer is its own.

import { beforeAll, describe, expect, test } from "vitest";
import { write } from "../support/raw-http.ts";
import { SlowClient, statusIn } from "../support/slow-client.ts";
import {
  startWorkerPair,
  sharedWorkerPair,
  type SharedWorkerPair,
  type WatchedWorker,
} from "../support/worker-pair.ts";

const { headers, body } = write("2026-07-28", "tools/list");
const SENT = JSON.stringify(body);
const DECLARED = 100;

/** Three times two isolates: what one watches is nothing to another. */
const pairs: SharedWorkerPair[] = [];
beforeAll(async () => {
  const own = await Promise.all([startWorkerPair(), startWorkerPair()]);
  pairs.push(...own, await sharedWorkerPair());
  return () => Promise.all(own.map((pair) => pair.stop()));
});

function isolate(which: number): WatchedWorker {
  const worker = pairs[which >> 1]?.both[which % 2];
  if (!worker) throw new Error(`there is no isolate ${which}`);
  return worker;
}

const at = ({ origin }: WatchedWorker) => `${origin}/mcp/lab`;

interface Stalled {
  readonly client: SlowClient;
  readonly begun: number;
}

/** A client that announces a small body and sends nothing of it. */
function announce(worker: WatchedWorker): Stalled {
  return { client: new SlowClient(at(worker), { headers, declared: DECLARED }), begun: Date.now() };
}

/** The same; settles when the Worker waits for it. */
async function stall(worker: WatchedWorker): Promise<Stalled> {
  const before = await worker.held();
  const stalled = announce(worker);
  while ((await worker.held()) < before + DECLARED);
  return stalled;
}

async function isEndedInTime({ client, begun }: Stalled): Promise<void> {
  const status = statusIn(await client.untilClosed());
  const ms = Date.now() - begun;
  expect(status).toBe(408);
  expect(ms).toBeGreaterThan(9000);
  expect(ms).toBeLessThan(25_000);
}

describe.concurrent("a small body that does not come is ended", () => {
  test("when nobody else comes", async () => {
    await isEndedInTime(await stall(isolate(0)));
  });

  test("when the client before it, which kept watch, has left", async () => {
    const worker = isolate(1);
    const first = await stall(worker);
    const second = await stall(worker);
    first.client.leave();
    await isEndedInTime(second);
    expect(await worker.held()).toBe(0);
  });

  test("when the client before it, whose call kept watch, has left in the middle of it", async () => {
    const worker = isolate(4);
    const call = write("2026-07-28", "tools/call", { name: "lab_silent", arguments: { forMs: 20_000 } });
    const first = new SlowClient(at(worker), { headers: call.headers, body: JSON.stringify(call.body) });
    while ((await worker.held()) === 0);
    const second = await stall(worker);
    first.leave();
    await isEndedInTime(second);
  });

  test("when the call before it, which kept watch, was answered", async () => {
    const worker = isolate(2);
    const answered = await fetch(at(worker), { method: "POST", headers, body: SENT });
    expect(await answered.json()).toMatchObject({ result: {} });
    await isEndedInTime(await stall(worker));
  });

  test("with a hundred of the same kind, all at once, and the call after them is answered", async () => {
    const worker = isolate(3);
    await Promise.all(Array.from({ length: 100 }, () => announce(worker)).map(isEndedInTime));
    expect(await worker.held()).toBe(0);
    const next = await fetch(at(worker), { method: "POST", headers, body: SENT });
    expect(await next.json()).toMatchObject({ result: {} });
  });
});

// What an isolate counts as held for its clients is let go whatever becomes of them: requests of every kind, sent as far as
// chance wants, read or not, left at any point. Afterwards nothing is held.

import { setTimeout as wait } from "node:timers/promises";
import * as fc from "fast-check";
import { beforeAll, expect, inject, test } from "vitest";
import { write } from "../support/raw-http.ts";
import { SlowClient, type SlowRequest } from "../support/slow-client.ts";
import { sized } from "../support/tier.ts";
import { ADMIN_TOKEN, sharedWorkerPair, type SharedWorkerPair } from "../support/worker-pair.ts";

const KIB = 1024;
/** Longer than a Worker says nothing on any stream: only then it learns that a client left. */
const NOTICED_WITHIN_MS = 45_000;

let workers: SharedWorkerPair;
beforeAll(async () => {
  workers = await sharedWorkerPair();
  await workers.one.admin("POST", "/tenants", { id: "held", document: { mode: "open" } });
});

interface Kind {
  readonly path: string;
  readonly request: (size: number) => SlowRequest;
}

function message(revision: string, method: string, params: (size: number) => Record<string, unknown>, accept?: string) {
  return (size: number): SlowRequest => {
    const { headers, body } = write(revision, method, params(size));
    return { headers: { ...headers, ...(accept === undefined ? {} : { accept }) }, body: JSON.stringify(body) };
  };
}

const echo = (size: number) => ({ name: "lab_echo", arguments: { text: "x".repeat(size) } });
const steps = () => ({ name: "lab_steps", arguments: { steps: 100 }, _meta: { progressToken: "p" } });
const waits = (size: number) => ({ name: "lab_silent", arguments: { forMs: 1500, pad: "x".repeat(size) } });
const listening = () => ({ notifications: { toolsListChanged: true, resourceSubscriptions: ["lab://a"] } });
const EVENTS = { accept: "text/event-stream" };
const ADMIN = { authorization: `Bearer ${ADMIN_TOKEN}` };

const KINDS: Readonly<Record<string, Kind>> = {
  "a call": { path: "/mcp/lab", request: message("2026-07-28", "tools/call", echo) },
  "a call of era 2025": { path: "/mcp/lab", request: message("2025-11-25", "tools/call", echo) },
  "a call that takes JSON alone": {
    path: "/mcp/lab",
    request: message("2025-11-25", "tools/call", echo, "application/json"),
  },
  "a call that takes a stream alone": {
    path: "/mcp/lab",
    request: message("2026-07-28", "tools/call", echo, "text/event-stream"),
  },
  "a call that reports": { path: "/mcp/lab", request: message("2026-07-28", "tools/call", steps) },
  "a call that reports in era 2025": { path: "/mcp/lab", request: message("2025-11-25", "tools/call", steps) },
  "a call that takes its time": { path: "/mcp/lab", request: message("2026-07-28", "tools/call", waits) },
  "a call of a tenant that is not there": { path: "/mcp/nobody", request: message("2026-07-28", "tools/call", echo) },
  "a stream of notifications": { path: "/mcp/lab", request: message("2026-07-28", "subscriptions/listen", listening) },
  "a stream of HTTP+SSE": { path: "/mcp/lab", request: () => ({ method: "GET", headers: EVENTS }) },
  "the connect page": { path: "/mcp/lab", request: () => ({ method: "GET", headers: { accept: "text/html" } }) },
  "what is no JSON": {
    path: "/mcp/lab",
    request: (size) => ({ headers: { "content-type": "application/json" }, body: "[".repeat(size) }),
  },
  "what nobody wants": { path: "/mcp/lab", request: (size) => ({ body: "x".repeat(size) }) },
  "an upload": {
    path: "/admin/v1/tenants/held/resources/content?uri=a:b",
    request: (size) => ({
      method: "PUT",
      headers: { ...ADMIN, "content-type": "text/plain" },
      body: "x".repeat(4 * size),
    }),
  },
  "an operator's document": {
    path: "/admin/v1/tenants",
    request: (size) => ({
      headers: { ...ADMIN, "content-type": "application/json" },
      body: JSON.stringify({ id: "held", pad: "x".repeat(size) }),
    }),
  },
};

const TURN: fc.Arbitrary<Turn> = fc.record({
  kind: fc.constantFrom(...Object.keys(KINDS)),
  size: fc.constantFrom(10, 3 * KIB, 60 * KIB, 70 * KIB, 900 * KIB),
  /** How much of the body is sent before the client falls silent. */
  sent: fc.constantFrom(0, 0.3, 0.99, 1, 1, 1),
  chunked: fc.boolean(),
  reads: fc.boolean(),
  leavesAfterMs: fc.constantFrom(0, 1, 10, 100, 1000),
});
interface Turn {
  readonly kind: string;
  readonly size: number;
  readonly sent: number;
  readonly chunked: boolean;
  readonly reads: boolean;
  readonly leavesAfterMs: number;
}

async function take({ kind, size, sent, chunked, reads, leavesAfterMs }: Turn): Promise<void> {
  const { path, request } = KINDS[kind] ?? { path: "", request: (): SlowRequest => ({}) };
  const { body = "", ...about } = request(size);
  const part = body.slice(0, Math.floor(body.length * sent));
  const client = new SlowClient(`${workers.one.origin}${path}`, {
    ...about,
    body: part,
    declared: chunked && body !== "" ? null : body.length,
  });
  if (chunked && body !== "" && sent === 1) client.more("0\r\n\r\n");
  if (reads) client.listen();
  await wait(leavesAfterMs);
  client.leave();
}

async function untilNothingIsHeld(): Promise<number> {
  const until = Date.now() + NOTICED_WITHIN_MS;
  let held = await workers.one.held();
  while (held > 0 && Date.now() < until) {
    await wait(200);
    held = await workers.one.held();
  }
  return held;
}

test("nothing is held when all clients have left, however they left", async () => {
  const rounds = sized({ usual: 4, long: 40 });
  const turns = fc.sample(fc.array(TURN, { minLength: 40, maxLength: 40 }), {
    numRuns: rounds,
    seed: inject("seed"),
  });
  let most = 0;
  for (const turn of turns) {
    const taken = turn.map(take);
    await wait(20);
    most = Math.max(most, await workers.one.held());
    await Promise.all(taken);
  }
  // So many were counted that this says something.
  expect(most).toBeGreaterThan(0);
  expect(await untilNothingIsHeld()).toBe(0);
});

test("a client that announces bodies and sends none takes no room from others", async () => {
  const { headers, body } = write("2025-11-25", "ping");
  const from = (address: string) => ({ ...headers, "cf-connecting-ip": address });
  const silent = Array.from({ length: 1400 }, () => {
    return new SlowClient(`${workers.one.origin}/mcp/lab`, { headers: from("203.0.113.1"), declared: 64 * KIB });
  });
  try {
    let held = -1;
    for (let now = 0; now !== held || now === 0; now = await workers.one.held()) {
      held = now;
      await wait(500);
    }
    expect(held).toBeGreaterThan(16 * 1024 * KIB);
    for (const pad of [0, 900 * KIB]) {
      const sent = `${JSON.stringify(body)}${" ".repeat(pad)}`;
      const about = { method: "POST", headers: from("203.0.113.2"), body: sent };
      const answered = await fetch(`${workers.one.origin}/mcp/lab`, about);
      expect([answered.status, await answered.json()]).toMatchObject([200, { result: {} }]);
    }
  } finally {
    for (const client of silent) client.leave();
  }
});

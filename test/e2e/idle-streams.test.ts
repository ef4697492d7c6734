// What an idle stream costs: nothing but the Worker that holds it. Hundreds of streams of each kind are left alone until
// the objects behind them hibernate; nobody calls or wakes one meanwhile, and the next change still reaches every stream.

import { afterAll, beforeAll, expect, test } from "vitest";
import { client2026 } from "../support/mcp-client.ts";
import { STREAM_KINDS, type Listen, type Listening } from "../support/notification-streams.ts";
import { startWorkerPair, type WorkerPair } from "../support/worker-pair.ts";

const STREAMS = 200;
/** Streams of one kind that are opened at the same time. */
const AT_ONCE = 25;
const LIST_CHANGED = "notifications/resources/list_changed";

interface Group {
  readonly tenant: string;
  readonly streams: readonly Listening[];
  /** Settles when every one of them was told of the next change. */
  told: Promise<unknown>;
}

let workers: WorkerPair;
/** By kind; each has a tenant, and so a hub, of its own. */
const groups = new Map<string, Group>();
/** What happened while all of them were idle. */
let happened: Readonly<Record<"callsOfOne" | "callsOfTwo" | "lives", readonly string[]>>;

beforeAll(async () => {
  workers = await startWorkerPair();
  const { one, two } = workers;
  await Promise.all(STREAM_KINDS.map(({ kind, listen }, at) => openGroup(kind, `idle-${at}`, listen)));
  // Everybody listens, and has nothing left to do.
  await Promise.all([...groups.values()].map(changeAndTell));
  await Promise.all([one.reset(), two.reset()]);
  const all = [...groups.values()];
  for (const group of all) group.told = tellAll(group.streams);
  // It is the one thing that a stream does of its own accord. Objects hibernate after 10 seconds; this takes twice that.
  await Promise.all(all.flatMap(({ streams }) => streams.map(({ events }) => events.comment())));
  happened = { callsOfOne: await one.calls(), callsOfTwo: await two.calls(), lives: await one.lives() };
});
afterAll(async () => {
  await Promise.all([...groups.values()].flatMap(({ streams }) => streams.map(({ events }) => events.close())));
  await workers.stop();
});

async function openGroup(kind: string, tenant: string, listen: Listen): Promise<void> {
  const { one, two } = workers;
  await two.admin("POST", "/tenants", { id: tenant, document: { mode: "open", maxStalenessMs: 50 } });
  const streams: Listening[] = [];
  while (streams.length < STREAMS) {
    const more = Array.from({ length: AT_ONCE }, () => listen(`${one.origin}/mcp/${tenant}`, []));
    streams.push(...(await Promise.all(more)));
  }
  groups.set(kind, { tenant, streams, told: Promise.resolve() });
}

function tellAll(streams: readonly Listening[]): Promise<unknown> {
  return Promise.all(streams.map((stream) => stream.nextNotification(LIST_CHANGED)));
}

/** One more resource, written in the Worker that holds no stream. */
async function change({ tenant }: Group): Promise<void> {
  const args = { uri: `lab://idle/${crypto.randomUUID()}`, text: "new" };
  const client = client2026(`${workers.two.origin}/mcp/${tenant}`);
  const { result } = await client.request("tools/call", { name: "lab_write", arguments: args });
  expect(result).toMatchObject({ resultType: "complete", content: [{ type: "text" }] });
}

async function changeAndTell(group: Group): Promise<void> {
  const told = tellAll(group.streams);
  await change(group);
  await told;
}

test("no object is called or woken while every stream does nothing but keep its connection alive", () => {
  expect(happened).toEqual({ callsOfOne: [], callsOfTwo: [], lives: [] });
});

test.each(STREAM_KINDS)(
  `the next change wakes its tenant, its content and its hub, and reaches all ${STREAMS} $kind`,
  async ({ kind }) => {
    const group = groups.get(kind) as Group;
    expect(group.streams).toHaveLength(STREAMS);
    await workers.one.reset();
    await change(group);
    await group.told;
    // They were not awake before, and no session was needed. Who calls needs a lease on what is stopped everywhere, too.
    const lives = (await workers.one.lives()).filter((binding) => binding !== "PlatformObject");
    expect(lives.toSorted()).toEqual(["ContentObject", "HubObject", "TenantObject"]);
  },
);

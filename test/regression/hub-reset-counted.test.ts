// A deployment closes every socket of a hub at once. Two hundred streams of one isolate used to make two hundred connects,
// two hundred listens and two hundred leases of it, with a valid lease in hand.

import { afterEach, beforeEach, expect, test } from "vitest";
import { client2026 } from "../support/mcp-client.ts";
import { STREAM_KINDS, type Listening } from "../support/notification-streams.ts";
import { startWorkerPair, type WorkerPair } from "../support/worker-pair.ts";

const STREAMS = 200;
const AT_ONCE = 25;
const MOST_LEASES = 40;
const LIST_CHANGED = "notifications/resources/list_changed";

let workers: WorkerPair;
// A stream whose client left comes back too, until something is written to it: nobody's are left from another test.
beforeEach(async () => {
  workers = await startWorkerPair();
});
afterEach(async () => {
  await workers.stop();
});

test.each(STREAM_KINDS)(
  `${STREAMS} $kind of one isolate come back to a hub that was reset, are told to list again, and ask the authority for few leases`,
  async ({ kind, listen }) => {
    const { one, two } = workers;
    const tenant = "reset";
    // As long as may be: on a busy machine a shorter lease is renewed meanwhile.
    await two.admin("POST", "/tenants", { id: tenant, document: { mode: "open", maxStalenessMs: 300_000 } });
    const streams: Listening[] = [];
    while (streams.length < STREAMS) {
      const more = Array.from({ length: AT_ONCE }, () => listen(`${one.origin}/mcp/${tenant}`, []));
      streams.push(...(await Promise.all(more)));
    }
    const told = () => Promise.all(streams.map((stream) => stream.nextNotification(LIST_CHANGED)));
    const change = () =>
      client2026(`${two.origin}/mcp/${tenant}`).request("tools/call", {
        name: "lab_write",
        arguments: { uri: `lab://reset/${crypto.randomUUID()}`, text: "new" },
      });
    const before = told();
    await change();
    await before;
    await one.reset();
    const after = told();
    await workers.evict();
    await after;
    const leased = async () => (await one.calls()).some((call) => call === "TenantObject policy.lease");
    await expect.poll(leased, { timeout: 30_000 }).toBe(true);
    const next = told();
    await change();
    await next;
    const calls = Object.groupBy(await one.calls(), (call) => call);
    // The object of a session is its own: it is asked what its client subscribed to, and the holder of an HTTP+SSE stream has a
    // socket there.
    const others = Object.entries(calls).filter(([call]) => !call.startsWith("SessionObject"));
    const made = Object.fromEntries(others.map(([call, all]) => [call, all?.length ?? 0]));
    process.stdout.write(`${kind}: ${JSON.stringify(made)}\n`);
    const { "TenantObject policy.lease": leases = 0, ...rest } = made;
    expect(rest).toEqual({ "HubObject fetch": STREAMS });
    // Each looks once whether it may go on, all of them together.
    expect(leases).toBeLessThanOrEqual(MOST_LEASES);
    await Promise.all(streams.map(({ events }) => events.close()));
  },
);

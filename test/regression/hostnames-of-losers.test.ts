// A hostname of a tenant's document was free for another tenant: of two writes with one If-Match, or two that make one tenant,
// the one that lost gave back what the other one had. Calls to objects take up to 300 ms more, as distance does.

import { beforeAll, expect, test } from "vitest";
import { ADMIN_TOKEN, sharedWorkerPair, type SharedWorkerPair } from "../support/worker-pair.ts";

const ROUNDS = 20;
const DELAY_MS = 300;
const OPEN = { mode: "open", maxStalenessMs: 50 };

let workers: SharedWorkerPair;
beforeAll(async () => {
  workers = await sharedWorkerPair();
  await workers.one.admin("POST", "/tenants", { id: "rival", document: OPEN });
  await Promise.all(workers.both.map((worker, at) => worker.delay(DELAY_MS, at + 1)));
});

const rounds = Array.from({ length: ROUNDS }, (_none, round) => round);

/** What both Workers are asked at the same time, of which one loses; gives how many did not. */
async function atOnce(method: string, path: string, body: unknown, ifMatch = "*"): Promise<number> {
  const headers = { authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": "application/json", "if-match": ifMatch };
  const asked = await Promise.all(
    workers.both.map(({ origin }) =>
      fetch(`${origin}/admin/v1${path}`, { method, headers, body: JSON.stringify(body) }),
    ),
  );
  return asked.filter(({ ok }) => ok).length;
}

/** Whether another tenant could have the hostname. */
async function isFree(hostname: string): Promise<boolean> {
  const document = { ...OPEN, hostnames: [hostname] };
  return workers.one.admin("PUT", "/tenants/rival/document?dryRun=1", document).then(
    () => true,
    () => false,
  );
}

test("two writes with one If-Match at once leave its hostname to its tenant", async () => {
  const free = await Promise.all(
    rounds.map(async (round) => {
      const id = `written-${round}`;
      const hostname = `${id}.example`;
      await workers.one.admin("POST", "/tenants", { id, document: OPEN });
      const document = { ...OPEN, hostnames: [hostname] };
      expect(await atOnce("PUT", `/tenants/${id}/document`, document, '"1"')).toBeGreaterThan(0);
      return isFree(hostname);
    }),
  );
  expect(free).toEqual(rounds.map(() => false));
});

test("two that make one tenant at once leave its hostname to it", async () => {
  const free = await Promise.all(
    rounds.map(async (round) => {
      const id = `made-${round}`;
      const hostname = `${id}.example`;
      expect(await atOnce("POST", "/tenants", { id, document: { ...OPEN, hostnames: [hostname] } })).toBe(1);
      return isFree(hostname);
    }),
  );
  expect(free).toEqual(rounds.map(() => false));
});

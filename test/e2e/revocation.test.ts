// What is withdrawn is gone everywhere once that is acknowledged. Two Workers over one storage stand for two isolates:
// both hold leases and go on asking while one of them withdraws, and what either begins after the acknowledgement fails.

import { beforeAll, describe, expect, test } from "vitest";
import { write } from "../support/raw-http.ts";
import { sized } from "../support/tier.ts";
import { sharedWorkerPair, type SharedWorkerPair, type WatchedWorker } from "../support/worker-pair.ts";

const ROUNDS = sized({ usual: 10, long: 100 });
/** Rounds at the same time: each waits for leases to end, and that is most of what it does. */
const AT_ONCE = 10;
/** At once after the acknowledgement, beside those that follow each other: both eras in both Workers, twice. */
const REQUESTS = 8;
const STALENESS = 50;
const REVISIONS = ["2025-11-25", "2026-07-28"] as const;

let workers: SharedWorkerPair;
beforeAll(async () => {
  workers = await sharedWorkerPair();
});

/** What a round may use, until it is withdrawn. */
interface Access {
  readonly tenant: string;
  readonly tool: string;
  readonly token: string | undefined;
}

interface Withdrawal {
  readonly what: string;
  /** Statuses that refuse it, as long as its authority can be asked. */
  readonly refused: readonly number[];
  readonly everywhere: boolean;
  grant(by: WatchedWorker, round: number): Promise<Access>;
  withdraw(by: WatchedWorker, access: Access): Promise<() => Promise<unknown>>;
}

let made = 0;
async function newTenant(by: WatchedWorker, document: Readonly<Record<string, unknown>> = {}): Promise<string> {
  made += 1;
  const id = `revoked-${made}`;
  await by.admin("POST", "/tenants", { id, document: { mode: "open", maxStalenessMs: STALENESS, ...document } });
  return id;
}

const shared = new Map<number, Promise<string>>();

/** One tenant for all rounds that are not at the same time. */
function laneTenant(by: WatchedWorker, round: number): Promise<string> {
  const lane = round % AT_ONCE;
  const known = shared.get(lane) ?? newTenant(by);
  shared.set(lane, known);
  return known;
}

const toolOf = (round: number) => `crowd_${String(round + 1).padStart(3, "0")}`;
const NOTHING_TO_RESTORE = () => Promise.resolve();

const withdrawals: readonly Withdrawal[] = [
  {
    what: "a revoked key",
    refused: [401],
    everywhere: false,
    grant: async (by, round) => {
      const tenant = await laneTenant(by, round);
      const { token } = await by.admin("POST", `/tenants/${tenant}/keys`, { name: "short-lived" });
      return { tenant, tool: "lab_echo", token: String(token) };
    },
    withdraw: async (by, { tenant, token = "" }) => {
      await by.admin("DELETE", `/tenants/${tenant}/keys/${token.split("_")[1]}`);
      return NOTHING_TO_RESTORE;
    },
  },
  {
    what: "a suspended tool",
    refused: [403],
    everywhere: false,
    grant: async (by, round) => ({ tenant: await laneTenant(by, round), tool: toolOf(round), token: undefined }),
    withdraw: async (by, { tenant, tool }) => {
      await by.admin("POST", `/tenants/${tenant}/suspensions`, { kind: "tool", name: tool, note: "withdrawn" });
      return () => by.admin("DELETE", `/tenants/${tenant}/suspensions/tool/${tool}`);
    },
  },
  {
    what: "a tool that is blocked in every tenant",
    refused: [403],
    everywhere: true,
    grant: async (by, round) => ({ tenant: await laneTenant(by, round), tool: toolOf(round), token: undefined }),
    withdraw: async (by, { tool }) => {
      await by.admin("POST", `/tools/${tool}/block`, { note: "withdrawn" });
      return () => by.admin("DELETE", `/tools/${tool}/block`);
    },
  },
  {
    what: "a suspended tenant",
    refused: [403],
    everywhere: false,
    grant: async (by) => ({ tenant: await newTenant(by), tool: "lab_echo", token: undefined }),
    withdraw: async (by, { tenant }) => {
      await by.admin("POST", `/tenants/${tenant}/suspensions`, { kind: "tenant", note: "withdrawn" });
      return NOTHING_TO_RESTORE;
    },
  },
];

interface Outcome {
  /** Milliseconds, as `performance.now()`. */
  readonly began: number;
  readonly status: number;
  readonly succeeded: boolean;
}

type Call = (to: WatchedWorker) => Promise<Outcome>;

/** Both eras in turn; the calls of 2025 belong to a session, which both Workers know. */
async function callerOf({ tenant, tool, token }: Access, begunAt: WatchedWorker): Promise<Call> {
  const credential = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const send = (to: WatchedWorker, { headers, body }: ReturnType<typeof write>) =>
    fetch(`${to.origin}/mcp/${tenant}`, {
      method: "POST",
      headers: { ...headers, ...credential },
      body: JSON.stringify(body),
    });
  const about = { protocolVersion: REVISIONS[0], capabilities: {}, clientInfo: { name: "test", version: "1" } };
  const begun = await send(begunAt, write(REVISIONS[0], "initialize", about));
  const session = begun.headers.get("mcp-session-id");
  if (session === null) throw new Error(`no session: ${await begun.text()}`);
  let turn = 0;
  return async (to) => {
    const revision = REVISIONS[(turn += 1) % 2] ?? REVISIONS[0];
    const written = write(revision, "tools/call", { name: tool, arguments: {} });
    if (revision === REVISIONS[0]) Object.assign(written.headers, { "mcp-session-id": session });
    const began = performance.now();
    const response = await send(to, written);
    const { result } = (await response.json()) as { result?: { isError?: boolean } };
    return { began, status: response.status, succeeded: result !== undefined && result.isError !== true };
  };
}

interface Hammer {
  /** Settles when both eras were served. */
  readonly served: Promise<void>;
  stop(): Promise<readonly Outcome[]>;
}

/** Calls one after the other, until it is told to stop. */
function hammer(call: Call, to: WatchedWorker): Hammer {
  const told = new AbortController();
  const outcomes: Outcome[] = [];
  const once = async () => outcomes.push(await call(to));
  const served = (async () => {
    for (const _revision of REVISIONS) await once();
    expect(outcomes.filter(({ succeeded }) => succeeded)).toHaveLength(REVISIONS.length);
  })();
  const working = served.then(async () => {
    while (!told.signal.aborted) await once();
  });
  return {
    served,
    stop: async () => {
      told.abort();
      await working;
      return outcomes;
    },
  };
}

interface Around {
  /** As soon as it is acknowledged, and when everything that was to be called was. */
  readonly after?: (tenant: string) => Promise<void>;
  readonly end?: (tenant: string) => Promise<void>;
}

/** What came of the calls that began after the acknowledgement. */
async function play(withdrawal: Withdrawal, round: number, { after, end }: Around): Promise<readonly Outcome[]> {
  const { both } = workers;
  const [by, other] = round % 2 === 0 ? both : [both[1], both[0]];
  const access = await withdrawal.grant(other, round);
  const callers = await Promise.all(both.map(() => callerOf(access, by)));
  const hammers = both.map((worker, at) => hammer(callers[at] as Call, worker));
  await Promise.all(hammers.map(({ served }) => served));
  const restore = await withdrawal.withdraw(by, access);
  const acknowledged = performance.now();
  await after?.(access.tenant);
  const calls = both.flatMap((worker) => callers.flatMap((call) => [call(worker), call(worker)]));
  const late = await Promise.all(calls);
  const hammered = await Promise.all(hammers.map((one) => one.stop()));
  await end?.(access.tenant);
  await restore();
  return [...late, ...hammered.flat().filter(({ began }) => began > acknowledged)];
}

/** All rounds, some at a time; every call that began after the acknowledgement was refused, in one of these ways. */
async function expectWithdrawn(withdrawal: Withdrawal, statuses: readonly number[], around: () => Around) {
  const played: (readonly Outcome[])[] = [];
  for (let round = 0; round < ROUNDS; round += AT_ONCE) {
    const together = around();
    const rounds = Array.from({ length: AT_ONCE }, (_none, at) => play(withdrawal, round + at, together));
    played.push(...(await Promise.all(rounds)));
  }
  expect(played).toHaveLength(ROUNDS);
  expect(played.filter((outcomes) => outcomes.length < REQUESTS)).toEqual([]);
  const afterwards = played.flat();
  expect(afterwards.filter(({ succeeded }) => succeeded)).toEqual([]);
  expect(afterwards.filter(({ status }) => !statuses.includes(status))).toEqual([]);
}

/** Resolves when it was called as often as there are rounds at the same time. */
function gate(): () => Promise<void> {
  let waiting = AT_ONCE;
  let open: () => void;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return () => {
    waiting -= 1;
    if (waiting === 0) open();
    return opened;
  };
}

describe.each(withdrawals)("$what", (withdrawal) => {
  test("is refused in both Workers by every request that begins after the acknowledgement", async () => {
    await expectWithdrawn(withdrawal, withdrawal.refused, () => ({}));
  });

  test("is still refused when the authority cannot be reached from then on", async () => {
    await expectWithdrawn(withdrawal, [...withdrawal.refused, 503], () => {
      // A block is told to every tenant: none may be away while another one's is not acknowledged.
      const [cut, reconnect] = withdrawal.everywhere ? [gate(), gate()] : [];
      return {
        after: async (tenant) => {
          await cut?.();
          await Promise.all(workers.both.map((worker) => worker.cutOff(tenant)));
        },
        end: async (tenant) => {
          await Promise.all(workers.both.map((worker) => worker.reconnect(tenant)));
          await reconnect?.();
        },
      };
    });
  });
});

test("a revoked key is refused when the authority lost its memory while leases were held", async () => {
  const { one, two, both } = workers;
  const outcomes = await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      // Long enough that the leases are still held when the key is revoked, and no other is given until then.
      const tenant = await newTenant(one, { maxStalenessMs: 1000 });
      const { token, id } = await one.admin("POST", `/tenants/${tenant}/keys`, { name: "short-lived" });
      const call = await callerOf({ tenant, tool: "lab_echo", token: String(token) }, one);
      for (const worker of both) expect(await call(worker)).toMatchObject({ succeeded: true });
      await workers.evict({ tenant });
      await two.admin("DELETE", `/tenants/${tenant}/keys/${String(id)}`);
      return Promise.all([...both, ...both].map((worker) => call(worker)));
    }),
  );
  expect(new Set(outcomes.flat().map(({ status }) => status))).toEqual(new Set([401]));
});

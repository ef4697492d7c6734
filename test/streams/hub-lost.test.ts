// Thousands of streams whose hubs are all reset at once, as a deployment does: real feeds on simulated sockets and a clock
// that nobody waits for. Counted: who comes back when, what clients are told, and what the authority is asked.

import { describe, expect, inject, it } from "vitest";
import { ChangeFeed, type Digests, type FeedHost } from "../../src/streams/change-feed.ts";
import type { OpenedSocket } from "../../src/streams/reconnecting-web-socket.ts";
import { CLOSE } from "../../src/streams/socket-messages.ts";
import type { ChangeEvent, Changes } from "../../src/tenants/object/changes.ts";
import { CrowdClock } from "./virtual-clock.ts";

const STREAMS = 5000;
const FEWER = 1000;
const HubObject = 4;
/** Of a machine that does much else. */
const PATIENCE_MS = 120_000;
const LEASE_MS = 5000;
const BIN_MS = 100;
const MINUTE_MS = 60_000;
const DIGESTS: Digests = { tools: "t", prompts: "p", resources: "r" };
const NOTHING: Omit<Changes, "version"> = {
  updated: [],
  listed: [],
  announced: [],
  policy: false,
  all: false,
  due: false,
};

type Ear = (event: { data?: string; code?: number }) => void;

/** Both ends of a socket. */
class SimulatedSocket {
  readyState: number = WebSocket.OPEN;
  readonly #ears = new Map<string, Ear>();
  #early: string[] | undefined = [];
  /** What came before somebody listens waits. */
  accept(): void {
    for (const text of this.#early?.splice(0) ?? []) this.#ears.get("message")?.({ data: text });
    this.#early = undefined;
  }
  addEventListener(type: string, ear: Ear): void {
    this.#ears.set(type, ear);
  }
  hear(text: string): void {
    if (this.#early) this.#early.push(text);
    else this.#ears.get("message")?.({ data: text });
  }
  close(code = 1000): void {
    if (this.readyState !== WebSocket.OPEN) return;
    this.readyState = WebSocket.CLOSED;
    this.#ears.get("close")?.({ code });
  }
}

class SimulatedHub {
  #sockets: { readonly socket: SimulatedSocket; readonly principal: string }[] = [];
  isAway = false;

  join(principal: string): OpenedSocket {
    if (this.isAway) throw new Error("Network connection lost.");
    const socket = new SimulatedSocket();
    this.#sockets.push({ socket, principal });
    return { socket: socket as unknown as WebSocket };
  }

  publish(event: ChangeEvent): void {
    for (const { socket, principal } of this.#sockets) {
      if (event.close && principal === event.close.principal) socket.close(CLOSE.withdrawn);
      else if (socket.readyState === WebSocket.OPEN) socket.hear(JSON.stringify(event));
    }
  }

  reset(): void {
    for (const { socket } of this.#sockets.splice(0)) socket.close(1006);
  }
}

interface Isolate {
  leaseAsked: number;
  /** Whom the lease does not let in. */
  withdrawn: ReadonlySet<string>;
}

/** `inIsolate`: how many streams share what they know. */
async function standing(seed: number, inIsolate: number, streams = STREAMS) {
  const clock = new CrowdClock(seed);
  const hubs = Array.from({ length: HubObject }, () => new SimulatedHub());
  const authority = { withdrawn: new Set<string>() };
  const counts = { listens: 0, leases: 0 };
  const connects: number[] = [];
  const notifications: string[] = [];
  const ended: { readonly stream: number; readonly why: string; readonly at: number }[] = [];
  const isolates: Isolate[] = [];

  const requestScopeOf = (stream: number): FeedHost => {
    const principal = `p${stream}`;
    const isolate = (isolates[Math.floor(stream / inIsolate)] ??= {
      leaseAsked: -Infinity,
      withdrawn: new Set(),
    });
    return {
      connect: async () => {
        connects.push(clock.now());
        const hub = hubs[Math.floor(clock.random() * HubObject)];
        if (!hub) throw new Error("there is no such hub");
        return hub.join(principal);
      },
      listen: async () => {
        counts.listens += 1;
        return { definitions: { ...NOTHING, version: 2 }, content: { ...NOTHING, version: 3 } };
      },
      getAccess: async (revision) => {
        const now = clock.now();
        const isLeased = now < isolate.leaseAsked + LEASE_MS;
        if (!isLeased || (revision === Infinity && isolate.leaseAsked < now)) {
          counts.leases += 1;
          isolate.leaseAsked = now;
          isolate.withdrawn = new Set(authority.withdrawn);
        }
        if (isolate.withdrawn.has(principal)) return null;
        return { digests: DIGESTS, leaseMs: isolate.leaseAsked + LEASE_MS - now, canSee: () => true };
      },
      filter: async () => ({ tools: true, prompts: true, resources: true, uris: new Map([["note:a", "note:a"]]) }),
      notify: (method) => void notifications.push(method),
      onEnd: (why) => void ended.push({ stream, why, at: clock.now() }),
    };
  };
  const begun = Array.from({ length: streams }, (_none, stream) =>
    new ChangeFeed(requestScopeOf(stream), clock).start(undefined),
  );
  await clock.advance(1000);
  await Promise.all(begun);

  /** Nobody holds a lease: everybody was idle. */
  const forget = () => {
    connects.length = 0;
    Object.assign(counts, { listens: 0, leases: 0 });
    for (const isolate of isolates) isolate.leaseAsked = -Infinity;
  };
  const withdraw = (principal: string) => {
    authority.withdrawn.add(principal);
    const event = { ...NOTHING, log: "definitions", version: 2, after: 2, check: 2, close: { principal } };
    for (const hub of hubs) hub.publish(event as ChangeEvent);
  };
  const largestBin = (from: number) => {
    const bins = new Map<number, number>();
    for (const at of connects)
      bins.set(Math.floor((at - from) / BIN_MS), (bins.get(Math.floor((at - from) / BIN_MS)) ?? 0) + 1);
    return Math.max(...bins.values());
  };
  const resetAll = () => {
    forget();
    for (const hub of hubs) hub.reset();
    return clock.now();
  };
  return { clock, hubs, authority, counts, connects, notifications, ended, withdraw, largestBin, resetAll };
}

/** What the hub waits for a stream that was away. */
const AWAY_MS = 10_000;
/** What a stream is told that has to list again: three lists, and what it subscribed to. */
const NOTIFICATIONS = 4;

describe.each([200, 20])(`${STREAMS} streams over ${HubObject} hubs, %i in an isolate`, (inIsolate) => {
  it(
    "come back in their turn after each reset, are told to list again, and ask for two leases of an isolate at most",
    async () => {
      const { clock, counts, connects, notifications, ended, largestBin, resetAll } = await standing(
        inject("seed"),
        inIsolate,
      );
      for (const round of [1, 2]) {
        const lostAt = resetAll();
        notifications.length = 0;
        await clock.advance(MINUTE_MS);
        const bin = largestBin(lostAt);
        process.stdout.write(
          `reset ${round}: ${connects.length} connects, the last after ${Math.max(...connects) - lostAt} ms, ` +
            `${bin} in the fullest ${BIN_MS} ms; ${counts.listens} listens, ${counts.leases} leases\n`,
        );
        expect(connects).toHaveLength(STREAMS);
        expect(Math.max(...connects) - lostAt).toBeLessThan(4200);
        expect(bin).toBeLessThan(0.04 * STREAMS);
        expect(notifications).toHaveLength(NOTIFICATIONS * STREAMS);
        expect(counts.listens).toBe(0);
        expect(counts.leases).toBeLessThanOrEqual((2 * STREAMS) / inIsolate);
      }
      expect(ended).toEqual([]);
    },
    PATIENCE_MS,
  );
});

describe(`${FEWER} streams over ${HubObject} hubs`, () => {
  it.each([0, 300, 5999])(
    "end where they were withdrawn %i ms after a reset, before the hubs say that nobody is away, and no other does",
    async (afterMs) => {
      const { clock, ended, withdraw, resetAll } = await standing(inject("seed"), 20, FEWER);
      const lostAt = resetAll();
      await clock.advance(afterMs);
      withdraw("p7");
      await clock.advance(MINUTE_MS);
      expect(ended.map(({ stream, why }) => ({ stream, why }))).toEqual([{ stream: 7, why: "withdrawn" }]);
      expect(ended[0]?.at).toBeLessThan(lostAt + AWAY_MS);
    },
    PATIENCE_MS,
  );

  it(
    "live by leases after six seconds where their hubs cannot be reached: a withdrawal ends one with its lease",
    async () => {
      const { clock, hubs, connects, ended, withdraw, resetAll } = await standing(inject("seed"), 20, FEWER);
      const lostAt = resetAll();
      for (const hub of hubs) hub.isAway = true;
      await clock.advance(20_000);
      withdraw("p7");
      const withdrawnAt = clock.now();
      await clock.advance(LEASE_MS + 1);
      expect(ended).toEqual([{ stream: 7, why: "withdrawn", at: expect.any(Number) as number }]);
      expect((ended[0]?.at ?? 0) - withdrawnAt).toBeLessThanOrEqual(LEASE_MS);
      for (const hub of hubs) hub.isAway = false;
      const { length } = connects;
      await clock.advance(20_000);
      expect(ended).toHaveLength(1);
      // Each tried a few times, always further apart.
      expect(length / FEWER).toBeLessThan(7);
      expect(clock.now() - lostAt).toBeLessThan(MINUTE_MS);
    },
    PATIENCE_MS,
  );
});

// Twenty thousand streams whose hubs are all reset at once, as a deployment does: real feeds and what the hubs remember,
// on simulated sockets and a clock that nobody waits for. Counted: who comes back when, and what the authority is asked.

import { describe, expect, inject, it } from "vitest";
import { Feed, type Digests, type FeedHost } from "../../src/streams/feed.ts";
import type { Opened } from "../../src/streams/held-socket.ts";
import { HubMemory, type MemoryStore } from "../../src/streams/hub-memory.ts";
import type { Versions } from "../../src/streams/pending.ts";
import { CLOSE } from "../../src/streams/wire.ts";
import type { ChangeEvent, Changes } from "../../src/tenants/authority/changes.ts";
import { CrowdClock } from "../support/crowd-clock.ts";

const STREAMS = 20_000;
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
  readonly #sent: (text: string) => void;
  #early: string[] | undefined = [];
  constructor(sent: (text: string) => void) {
    this.#sent = sent;
  }
  /** What came before somebody listens waits. */
  accept(): void {
    for (const text of this.#early?.splice(0) ?? []) this.#ears.get("message")?.({ data: text });
    this.#early = undefined;
  }
  addEventListener(type: string, ear: Ear): void {
    this.#ears.set(type, ear);
  }
  send(text: string): void {
    this.#sent(text);
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
  readonly #clock: CrowdClock;
  readonly #stored = new Map<string, string>();
  #memory: HubMemory;
  #sockets: { readonly socket: SimulatedSocket; readonly principal: string }[] = [];
  isAway = false;

  constructor(clock: CrowdClock) {
    this.#clock = clock;
    this.#memory = this.#begin();
  }

  #begin(): HubMemory {
    const store: MemoryStore = {
      get: (key: string) => JSON.parse(this.#stored.get(key) ?? "null") ?? undefined,
      put: (key: string, value: unknown) => void this.#stored.set(key, JSON.stringify(value)),
      delete: (key: string) => this.#stored.delete(key),
    };
    return new HubMemory(store, 0, this.#clock.now);
  }

  get away(): number {
    return this.#memory.awaited;
  }

  join(principal: string): Opened {
    if (this.isAway) throw new Error("Network connection lost.");
    const socket = new SimulatedSocket((text) => {
      this.#memory.learn(JSON.parse(text) as Versions);
    });
    this.#sockets.push({ socket, principal });
    const { grew, ...hello } = this.#memory.join(null, this.#sockets.length, () => this.#sockets.length);
    if (grew) for (const one of this.#sockets) one.socket.hear(JSON.stringify({ streams: hello.streams }));
    return { socket: socket as unknown as WebSocket, hello: JSON.stringify(hello) };
  }

  publish(event: ChangeEvent): number {
    if (event.close) {
      const { close } = event;
      for (const { socket, principal } of this.#sockets)
        if (principal === close.principal) socket.close(CLOSE.withdrawn);
    }
    const open = this.#sockets.filter(({ socket }) => socket.readyState === WebSocket.OPEN);
    for (const { socket } of open) socket.hear(JSON.stringify(event));
    return this.#memory.told(event, open.length);
  }

  reset(): void {
    const lost = this.#sockets;
    this.#sockets = [];
    this.#memory = this.#begin();
    for (const { socket } of lost) socket.close(1006);
  }
}

interface Isolate {
  leaseAsked: number;
  revision: number;
}

/** `inIsolate`: how many streams share what they know. */
async function standing(seed: number, inIsolate: number, streams = STREAMS) {
  const clock = new CrowdClock(seed);
  const hubs = Array.from({ length: HubObject }, () => new SimulatedHub(clock));
  const authority = { revision: 1, content: 3, updated: [] as string[], withdrawn: new Set<string>() };
  const counts = { listens: 0, leases: 0 };
  const connects: number[] = [];
  const told: string[] = [];
  const ended: { readonly stream: number; readonly why: string; readonly at: number }[] = [];
  const isolates: Isolate[] = [];

  const hostOf = (stream: number): FeedHost => {
    const principal = `p${stream}`;
    const isolate = (isolates[Math.floor(stream / inIsolate)] ??= {
      leaseAsked: -Infinity,
      revision: 0,
    });
    return {
      connect: async () => {
        connects.push(clock.now());
        const hub = hubs[Math.floor(clock.random() * HubObject)];
        if (!hub) throw new Error("there is no such hub");
        return hub.join(principal);
      },
      listen: async (since) => {
        // The logs are in two objects.
        counts.listens += 2;
        const definitions = { ...NOTHING, version: 2 };
        const updated = since && since.content < authority.content ? authority.updated : [];
        return { definitions, content: { ...NOTHING, version: authority.content, updated } };
      },
      look: async (revision) => {
        const now = clock.now();
        const isLeased = now < isolate.leaseAsked + LEASE_MS;
        const isNewEnough = revision === Infinity ? isolate.leaseAsked >= now : isolate.revision >= revision;
        if (!isLeased || !isNewEnough) {
          counts.leases += 1;
          isolate.leaseAsked = now;
          isolate.revision = authority.revision;
        }
        if (authority.withdrawn.has(principal)) return null;
        const leaseMs = isolate.leaseAsked + LEASE_MS - now;
        return { digests: DIGESTS, revision: isolate.revision, leaseMs, sees: () => true };
      },
      filter: async () => ({ tools: true, prompts: true, resources: true, uris: new Map([["note:a", "note:a"]]) }),
      tell: (method) => void told.push(method),
      ended: (why) => void ended.push({ stream, why, at: clock.now() }),
    };
  };
  const begun = Array.from({ length: streams }, (_none, stream) => new Feed(hostOf(stream), clock).start(undefined));
  await clock.advance(1000);
  await Promise.all(begun);

  /** Nobody holds a lease: everybody was idle. */
  const forget = () => {
    connects.length = 0;
    Object.assign(counts, { listens: 0, leases: 0 });
    for (const isolate of isolates) isolate.leaseAsked = -Infinity;
  };
  const publish = (about: Partial<ChangeEvent>) => {
    const event = {
      ...NOTHING,
      log: "content",
      version: authority.content,
      after: 0,
      check: null,
      close: null,
      ...about,
    };
    return hubs.map((hub) => hub.publish(event as ChangeEvent));
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
  return { clock, hubs, authority, counts, connects, told, ended, publish, largestBin, resetAll };
}

const MOST_CALLS = 0.02 * STREAMS;

describe.each([200, 20])(`${STREAMS} streams over ${HubObject} hubs, %i in an isolate`, (inIsolate) => {
  it(
    "come back in their turn after a reset, again and again, and ask the authority nothing where nothing happened",
    async () => {
      const { clock, hubs, counts, connects, ended, largestBin, resetAll } = await standing(inject("seed"), inIsolate);
      for (const round of [1, 2]) {
        const lostAt = resetAll();
        await clock.advance(MINUTE_MS);
        const bin = largestBin(lostAt);
        process.stdout.write(
          `reset ${round}: ${connects.length} connects, the last after ${Math.max(...connects) - lostAt} ms, ` +
            `${bin} in the fullest ${BIN_MS} ms; ${counts.listens} listens, ${counts.leases} leases\n`,
        );
        expect(connects).toHaveLength(STREAMS);
        expect(Math.max(...connects) - lostAt).toBeLessThan(8200);
        expect(bin).toBeLessThan(0.03 * STREAMS);
        expect(counts).toEqual({ listens: 0, leases: 0 });
        expect(hubs.map(({ away }) => away)).toEqual([0, 0, 0, 0]);
      }
      expect(ended).toEqual([]);
    },
    PATIENCE_MS,
  );
});

describe(`${STREAMS} streams over ${HubObject} hubs`, () => {
  it(
    "are told of a change that came while they were away, each once, and ask for it once each",
    async () => {
      const { clock, authority, counts, told, publish, resetAll } = await standing(inject("seed"), 200);
      resetAll();
      await clock.advance(300);
      authority.content += 1;
      authority.updated = ["note:a"];
      expect(publish({ version: authority.content, after: authority.content - 1, updated: ["note:a"] })).not.toContain(
        0,
      );
      await clock.advance(MINUTE_MS);
      expect(told).toHaveLength(STREAMS);
      process.stdout.write(`a change meanwhile: ${counts.listens} listens, ${counts.leases} leases\n`);
      expect(counts.listens).toBeLessThanOrEqual(2 * STREAMS);
      expect(counts.leases).toBeLessThanOrEqual(MOST_CALLS);
    },
    PATIENCE_MS,
  );

  it(
    "end where they were withdrawn while they were away, before the hubs say that nobody is away, and no other does",
    async () => {
      const { clock, hubs, authority, counts, ended, publish, resetAll } = await standing(inject("seed"), 200);
      const lostAt = resetAll();
      await clock.advance(300);
      authority.revision = 2;
      authority.withdrawn.add("p7");
      publish({ log: "definitions", version: 2, after: 2, check: 2, close: { principal: "p7" } });
      const awaited = Math.max(...hubs.map(({ away }) => away));
      await clock.advance(MINUTE_MS);
      expect(ended.map(({ stream, why }) => ({ stream, why }))).toEqual([{ stream: 7, why: "withdrawn" }]);
      expect(ended[0]?.at).toBeLessThan(lostAt + 300 + awaited);
      process.stdout.write(`a withdrawal meanwhile: ${counts.listens} listens, ${counts.leases} leases\n`);
      expect(counts.leases + counts.listens).toBeLessThanOrEqual(MOST_CALLS);
    },
    PATIENCE_MS,
  );

  it(
    "of hubs that cannot be reached live by leases after ten seconds: who is withdrawn ends with theirs",
    async () => {
      const { clock, hubs, authority, connects, ended, resetAll } = await standing(inject("seed"), 20, FEWER);
      const lostAt = resetAll();
      for (const hub of hubs) hub.isAway = true;
      await clock.advance(20_000);
      authority.revision = 2;
      authority.withdrawn.add("p7");
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

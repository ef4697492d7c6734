import { describe, expect, it } from "vitest";
import {
  endedSince,
  endedSessionStore,
  type EndedSessionMethods,
} from "../../../src/tenants/object/ended-session-store.ts";
import { withStore, type OpenedStore } from "../../support/workerd/tenant.ts";

const onEnded = (work: (store: OpenedStore<EndedSessionMethods>) => void | Promise<void>) =>
  withStore(endedSessionStore, work);

/** Each a millisecond after the one before. */
function endMany(
  { methods, clock }: OpenedStore<EndedSessionMethods>,
  from: number,
  to: number,
  expires: number,
): void {
  for (let at = from; at <= to; at += 1) {
    clock.now += 1;
    methods.endSession(`n${at}`, expires);
  }
}

describe("a session that was ended", () => {
  it("is stored until its id expires, and then deleted by its alarm", async () => {
    await onEnded(async ({ methods, open, clock, alarms: wakes, sql }) => {
      const [soon, later] = [clock.now + 1000, clock.now + 2000];
      methods.endSession("a", soon);
      methods.endSession("b", later);
      expect(wakes).toEqual([soon, later]);
      expect([methods.hasEnded("a"), methods.hasEnded("b"), methods.hasEnded("c")]).toEqual([true, true, false]);
      expect(await open.alarm?.(soon - 1)).toBe(soon);
      expect(methods.hasEnded("a")).toBe(true);
      expect(await open.alarm?.(soon)).toBe(later);
      expect([methods.hasEnded("a"), methods.hasEnded("b")]).toEqual([false, true]);
      expect(await open.alarm?.(later)).toBeUndefined();
      expect(sql.exec("SELECT 1 FROM ended_sessions").toArray()).toEqual([]);
    });
  });

  it("notifies its object again if it is ended again: the first answer may be lost", async () => {
    await onEnded(({ methods, clock }) => {
      const end = () => methods.endSession("a", clock.now + 1000);
      expect([end(), end()]).toEqual([false, true]);
    });
  });

  it("is not written down when its id is of no use any more", async () => {
    await onEnded(({ methods, sql, clock, alarms: wakes }) => {
      methods.endSession("a", clock.now);
      expect([sql.exec("SELECT 1 FROM ended_sessions").toArray(), wakes]).toEqual([[], []]);
    });
  });
});

describe("from a cursor on", () => {
  it("a lease gets everything once, and then only new entries", async () => {
    await onEnded((store) => {
      const { sql, clock } = store;
      expect(endedSince(sql, null)).toEqual({ cursor: 0, nonces: [], since: 0 });
      expect(endedSince(sql, 0)).toBeNull();
      endMany(store, 1, 3, clock.now + 60_000);
      expect(endedSince(sql, 0)).toEqual({ cursor: 3, nonces: ["n3", "n2", "n1"], since: 0 });
      expect(endedSince(sql, 2)).toEqual({ cursor: 3, nonces: ["n3"], since: 0 });
      expect(endedSince(sql, 3)).toBeNull();
    });
  });

  it("a thousand at most ride on a lease: the newest, with the time since when none is missing", async () => {
    await onEnded((store) => {
      const { sql, clock } = store;
      const start = clock.now;
      endMany(store, 1, 1000, start + 60_000);
      expect(endedSince(sql, null)).toMatchObject({ cursor: 1000, since: 0, nonces: { length: 1000 } });
      endMany(store, 1001, 1003, start + 60_000);
      const { cursor, nonces, since } = endedSince(sql, null) ?? {};
      expect([cursor, nonces?.length, nonces?.at(0), nonces?.at(-1)]).toEqual([1003, 1000, "n1003", "n4"]);
      expect(since).toBe(start + 4);
      expect(endedSince(sql, 3)).toMatchObject({ since: 0 });
      expect(endedSince(sql, 2)).toMatchObject({ since: start + 4 });
    });
  });

  it("a lease misses no entry that came after others expired", async () => {
    await onEnded(async (store) => {
      const { sql, clock, open, methods } = store;
      endMany(store, 1, 3, clock.now + 10);
      clock.now += 100;
      await open.alarm?.(clock.now);
      methods.endSession("new", clock.now + 60_000);
      expect(endedSince(sql, 3)).toEqual({ cursor: 4, nonces: ["new"], since: 0 });
    });
  });
});

describe("the table", () => {
  it("is emptied in bounded steps, one alarm after another", async () => {
    await onEnded(async (store) => {
      const { open, clock, sql } = store;
      const expires = clock.now + 60_000;
      endMany(store, 1, 5001, expires);
      store.methods.endSession("later", expires + 1);
      const left = () => sql.exec("SELECT 1 FROM ended_sessions").toArray().length;
      expect(await open.alarm?.(expires)).toBe(expires);
      expect(left()).toBe(2);
      expect(await open.alarm?.(expires)).toBe(expires + 1);
      expect(left()).toBe(1);
    });
  });

  it("keeps half a million at most, the newest", async () => {
    await onEnded(({ methods, sql, clock }) => {
      const far = clock.now + 60_000;
      methods.endSession("oldest", far);
      methods.endSession("older", far);
      // As if half a million had come in between.
      sql.exec("UPDATE sqlite_sequence SET seq = 500998 WHERE name = 'ended_sessions'");
      methods.endSession("a", far);
      expect(methods.hasEnded("oldest")).toBe(true);
      methods.endSession("b", far);
      expect(["oldest", "older", "a", "b"].map((nonce) => methods.hasEnded(nonce))).toEqual([false, false, true, true]);
    });
  });
});

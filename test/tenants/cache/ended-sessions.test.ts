import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { EndedSessions } from "../../../src/tenants/cache/ended-sessions.ts";
import { endedSince, endedSessionStore } from "../../../src/tenants/object/ended-session-store.ts";
import { withStore } from "../../support/workerd/tenant.ts";

const NOW = Date.UTC(2026, 10, 21, 12);
const MADE_BEFORE = NOW - 1000;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: NOW });
});
afterEach(() => {
  vi.useRealTimers();
});

function told(nonces: readonly string[], since = 0, cursor = 1): EndedSessions {
  const sessions = new EndedSessions();
  sessions.merge({ cursor, nonces, since });
  return sessions;
}

describe("a session", () => {
  it("has ended if a lease lists it, and goes on otherwise", () => {
    const sessions = told(["a"]);
    expect([sessions.hasEnded("a", MADE_BEFORE), sessions.hasEnded("b", MADE_BEFORE)]).toEqual([true, false]);
    expect(sessions.cursor).toBe(1);
  });

  it("has ended from the moment on in which its client ended it here", () => {
    const sessions = told([]);
    sessions.add("a");
    expect(sessions.hasEnded("a", MADE_BEFORE)).toBe(true);
  });

  it("that is older than the cached list is looked up, once", () => {
    const sessions = told([], NOW - 500);
    expect(sessions.hasEnded("young", NOW + 501)).toBe(false);
    expect([sessions.hasEnded("a", MADE_BEFORE), sessions.hasEnded("b", MADE_BEFORE)]).toEqual([undefined, undefined]);
    sessions.setEnded("a", false);
    sessions.setEnded("b", true);
    expect([sessions.hasEnded("a", MADE_BEFORE), sessions.hasEnded("b", MADE_BEFORE)]).toEqual([false, true]);
  });

  it("that was open has ended when a later lease or its client says so", () => {
    const sessions = told([], NOW);
    for (const nonce of ["a", "b"]) sessions.setEnded(nonce, false);
    sessions.merge({ cursor: 2, nonces: ["a"], since: 0 });
    sessions.add("b");
    expect([sessions.hasEnded("a", MADE_BEFORE), sessions.hasEnded("b", MADE_BEFORE)]).toEqual([true, true]);
  });

  it("that was open is looked up again after an incomplete lease", () => {
    const sessions = told([], NOW - 500);
    sessions.setEnded("a", false);
    sessions.merge({ cursor: 5000, nonces: ["x"], since: NOW });
    expect(sessions.hasEnded("a", MADE_BEFORE)).toBeUndefined();
  });
});

describe("the cached list", () => {
  it("is bounded, and dropped sessions are looked up and never taken as open", () => {
    const sessions = told([]);
    for (let at = 0; at < 6000; at += 1) {
      vi.setSystemTime(NOW + at);
      sessions.add(`n${at}`);
    }
    for (let at = 0; at < 6000; at += 1) {
      // Each session began before it ended.
      expect(sessions.hasEnded(`n${at}`, MADE_BEFORE)).not.toBe(false);
    }
    expect(sessions.hasEnded("n0", MADE_BEFORE)).toBeUndefined();
    expect(sessions.hasEnded("n5999", MADE_BEFORE)).toBe(true);
    expect(sessions.hasEnded("new", NOW + 6000)).toBe(false);
  });

  it("weighs no more than ten thousand sessions do", () => {
    const sessions = told([], NOW);
    for (let at = 0; at < 12_000; at += 1) {
      sessions.add(`ended${at}`);
      sessions.setEnded(`alive${at}`, false);
    }
    expect(sessions.bytes).toBeLessThanOrEqual(10_000 * 120);
    expect(sessions.hasEnded("alive11999", MADE_BEFORE)).toBe(false);
  });

  it("never takes a session as open that the tenant's object has ended, whatever lease it missed", async () => {
    await withStore(endedSessionStore, ({ methods, sql, clock }) => {
      const minted = clock.now;
      const sessions = new EndedSessions();
      for (let at = 0; at < 7000; at += 1) {
        clock.now += 1;
        vi.setSystemTime(clock.now);
        methods.endSession(`n${at}`, clock.now + 3_600_000);
        if (at % 1700 !== 0) continue;
        const ended = endedSince(sql, sessions.cursor);
        if (ended) sessions.merge(ended);
        for (let old = 0; old <= at; old += 50) expect(sessions.hasEnded(`n${old}`, minted)).not.toBe(false);
      }
    });
  });
});

// What an isolate knows of ended sessions: enough to refuse them, never so much that it grows, and honest where it knows less.

import { describe, expect, it } from "vitest";
import { EndedSessions } from "../../src/tenants/ended-sessions.ts";

const AT = Date.UTC(2026, 10, 21, 12);
/** Well after what was learnt, whatever the clocks. */
const LATER = AT + 60_000;
const nonces = (count: number, from = 0) => Array.from({ length: count }, (_none, at) => `nonce-${from + at}`);

describe("what rode on a lease", () => {
  it("is ended, and everything else goes on, while that was all there is", () => {
    const ended = new EndedSessions();
    ended.learn({ cursor: 2, nonces: nonces(2), since: 0 });
    expect([ended.hasEnded("nonce-1", AT), ended.hasEnded("other", 1), ended.cursor]).toEqual([true, false, 2]);
  });

  it("leaves to the authority what is older than all of it, until that was asked once", () => {
    const ended = new EndedSessions();
    ended.learn({ cursor: 2000, nonces: nonces(1000), since: AT });
    expect([ended.hasEnded("older", AT - 1), ended.hasEnded("newer", LATER)]).toEqual([undefined, false]);
    ended.settle("older", false);
    ended.settle("oldest", true);
    expect([ended.hasEnded("older", AT - 1), ended.hasEnded("oldest", AT - 2)]).toEqual([false, true]);
  });

  it("leaves to the authority what began at the same moment, by whoever's clock", () => {
    const ended = new EndedSessions();
    ended.learn({ cursor: 2000, nonces: nonces(1000), since: AT });
    for (const minted of [AT, AT + 1, AT + 500]) expect(ended.hasEnded("other", minted)).toBeUndefined();
  });

  it("asks again about what went on, once more ended than a lease carries", () => {
    const ended = new EndedSessions();
    ended.learn({ cursor: 2000, nonces: nonces(1000), since: AT });
    ended.settle("older", false);
    ended.learn({ cursor: 2001, nonces: ["nonce-2000"], since: 0 });
    expect(ended.hasEnded("older", AT - 1)).toBe(false);
    ended.learn({ cursor: 9000, nonces: nonces(1000, 3000), since: AT + 1 });
    expect(ended.hasEnded("older", AT - 1)).toBeUndefined();
  });
});

describe("its memory", () => {
  it("is bounded however many end, and what it forgot is left to the authority", () => {
    const ended = new EndedSessions();
    const before = Date.now();
    for (const nonce of nonces(20_000)) ended.end(nonce);
    const full = ended.bytes;
    for (const nonce of nonces(20_000, 20_000)) ended.end(nonce);
    expect(ended.bytes).toBe(full);
    expect([ended.hasEnded("nonce-39999", before), ended.hasEnded("nonce-0", before)]).toEqual([true, undefined]);
  });

  it("is bounded however many are asked about", () => {
    const ended = new EndedSessions();
    ended.learn({ cursor: 1, nonces: [], since: AT });
    for (const nonce of nonces(5000)) ended.settle(nonce, false);
    const full = ended.bytes;
    for (const nonce of nonces(20_000, 5000)) ended.settle(nonce, false);
    expect(ended.bytes).toBeLessThanOrEqual(full);
    expect(ended.hasEnded("nonce-24999", AT - 1)).toBe(false);
  });
});

// Who is kept from an upstream by how the calls of others ended.

import { describe, expect, it, vi } from "vitest";
import { CallGate } from "../../../src/gateway/guard/call-gate.ts";
import { SilentUpstreams } from "../../../src/gateway/guard/silent-upstreams.ts";
import { circuits, FAILURES_IN_A_ROW } from "../../../src/gateway/guard/upstream-circuit.ts";
import type { Fault } from "../../../src/mcp-client/fault.ts";
import { loggedStates } from "../../support/worker/logged.ts";

const LATE: Fault = { kind: "timeout", stage: "total", afterMs: 1000, sent: "perhaps" };
const LOST: Fault = { kind: "lost", stage: "headers", code: undefined, sent: "perhaps" };
const AWAY: Fault = { kind: "unreachable", code: "ECONNREFUSED", sent: "no" };

function callers(timeoutMs = 1000) {
  const tenant = crypto.randomUUID();
  return (caller: string) =>
    new CallGate({ tenant, id: "up", config: "c1", timeoutMs, caller: () => caller, ofClient: {} });
}

function failing(gate: CallGate, fault: Fault, at = 0) {
  for (let time = 0; time < FAILURES_IN_A_ROW; time += 1) gate.failed(fault, false, at);
}

describe("calls that fail", () => {
  it.each([
    ["take too long", LATE],
    ["break the connection", LOST],
  ])("of somebody who asks for what would %s keep nobody else from the upstream", (_what, fault) => {
    const by = callers();
    failing(by("mallory"), fault);
    expect(by("mallory").refusal(1)).toMatchObject({ error: "unreachableServer" });
    expect(by("ann").refusal(1)).toBeUndefined();
  });

  it("keep everybody from an upstream that cannot be reached, until one of them reaches it", () => {
    const by = callers();
    failing(by("ann"), AWAY);
    expect(by("bob").refusal(1)).toMatchObject({ error: "unreachableServer" });
    expect(by("bob").refusal(5000)).toBeUndefined();
    by("bob").failed(LATE, false, 5100);
    expect(by("ann").refusal(5100 + 9000)).toMatchObject({ error: "unreachableServer" });
    expect(by("ann").refusal(5100 + 10_000)).toBeUndefined();
    by("ann").answered(15_200);
    expect(by("bob").refusal(15_200)).toBeUndefined();
  });

  it("keep nobody waiting for the one that tries it, however long that may take", () => {
    const by = callers(300_000);
    failing(by("ann"), AWAY);
    expect(by("mallory").refusal(5000)).toBeUndefined();
    expect(by("ann").refusal(14_999)).toMatchObject({ error: "unreachableServer" });
    expect(by("ann").refusal(15_000)).toBeUndefined();
  });

  it("and are refused leave no probe of one's own behind", () => {
    const by = callers();
    failing(by("ann"), LATE);
    failing(by("bob"), AWAY, 4000);
    // Her own pause is over, and that of all is not.
    expect(by("ann").refusal(5000)).toBeDefined();
    expect(by("ann").refusal(9000)).toBeUndefined();
  });

  it("and are no probe leave the one that is under way alone", () => {
    const by = callers();
    const older = by("carol");
    expect(older.refusal(0)).toBeUndefined();
    failing(by("ann"), AWAY);
    const probe = by("ann");
    expect(probe.refusal(5000)).toBeUndefined();
    older.left();
    expect(by("bob").refusal(5001)).toBeDefined();
    probe.left();
    expect(by("bob").refusal(5002)).toBeUndefined();
  });

  it("are told to the log once when the upstream is left alone, and once when it answers again", () => {
    const lines = loggedStates();
    const by = callers();
    failing(by("mallory"), LATE);
    expect(lines).toEqual([]);
    for (let now = 0; now < 100_000; now += 5000) failing(by("ann"), AWAY, now);
    by("bob").answered(100_000);
    by("bob").answered(100_001);
    const at = { event: "upstream.circuit", tenant: expect.any(String) as string, upstream: "up" };
    const since = "1970-01-01T00:00:00.000Z";
    const why = "the server cannot be reached (ECONNREFUSED)";
    expect(lines).toEqual([
      { level: "warn", ...at, state: "open", was: "closed", why, since },
      { level: "info", ...at, state: "closed", was: "open", why: null, since },
    ]);
  });

  it.each([
    ["take too long", LATE, "the answer was not complete within 1000 ms"],
    ["break the connection", LOST, "the connection was lost before an answer"],
  ])(
    "and are all that anybody meets, as they %s, are told once nobody was answered for a minute",
    (_what, fault, why) => {
      const lines = loggedStates();
      const by = callers();
      for (let now = 1000; now < 61_000; now += 5000) by("ann").failed(fault, false, now);
      expect(lines).toEqual([]);
      for (let now = 61_000; now < 200_000; now += 5000) by("ann").failed(fault, false, now);
      // It cannot even be reached by now, which is the same to who was told.
      failing(by("ann"), AWAY, 200_000);
      by("bob").answered(230_000);
      by("bob").answered(230_001);
      const at = { event: "upstream.circuit", tenant: expect.any(String) as string, upstream: "up" };
      const since = "1970-01-01T00:00:01.000Z";
      expect(lines).toEqual([
        { level: "warn", ...at, state: "open", was: "closed", why, since },
        { level: "info", ...at, state: "closed", was: "open", why: null, since },
      ]);
    },
  );

  it("and take too long are nobody's news while others are answered, or where they are few", () => {
    const lines = loggedStates();
    const by = callers();
    for (let now = 0; now < 300_000; now += 5000) {
      by("mallory").failed(LATE, false, now);
      if (now % 50_000 === 0) by("ann").answered(now);
    }
    const few = callers();
    for (let now = 0; now < 300_000; now += 100_000) few("ann").failed(LATE, false, now);
    few("ann").answered(300_000);
    expect(lines).toEqual([]);
  });

  it("are forgotten of those upstreams that failed longest ago, where there are ever more", () => {
    const silent = new SilentUpstreams();
    for (let at = 0; at < 1500; at += 1) silent.failed(`up${at}`, at);
    expect(silent.size).toBe(1000);
  });

  it("are not waited for in vain where the clock was ahead when the first one failed", () => {
    const silent = new SilentUpstreams();
    silent.failed("up", 3_600_000);
    for (let now = 0; now < 60_000; now += 10_000) expect(silent.failed("up", now)).toBeUndefined();
    expect(silent.failed("up", 60_000)).toBe(0);
  });
});

describe("circuits of clients that are known by headers of their own", () => {
  const BUSY = { status: 429, contentType: "", retryAfter: "60" };
  const WAITS: Fault = { kind: "status", http: BUSY, sent: "yes" };

  it("are told apart, and take little memory, however long the headers are", () => {
    const tenant = crypto.randomUUID();
    const wished = vi.spyOn(circuits, "wished");
    const by = (end: string, length: number) =>
      new CallGate({
        tenant,
        id: "up",
        config: "c1",
        timeoutMs: 1000,
        caller: () => "ann",
        ofClient: { "x-who": "x".repeat(length) + end },
      });
    for (const length of [10, 4000]) {
      by("a", length).failed(WAITS, false, 0);
      expect(by("a", length).refusal(1)).toMatchObject({ error: "faultyServer" });
      expect(by("b", length).refusal(1)).toBeUndefined();
    }
    for (const [key] of wished.mock.calls) expect(key.length).toBeLessThan(500);
    wished.mockRestore();
  });
});

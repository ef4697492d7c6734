import { describe, expect, it } from "vitest";
import { CircuitGate } from "../../../src/gateway/guard/circuit-gate.ts";
import { MAX_CONSECUTIVE_FAILURES } from "../../../src/gateway/guard/circuit-breaker.ts";
import type { Fault, HttpFacts } from "../../../src/mcp-client/fault.ts";
import { loggedStates } from "../logged-states.ts";

const LATE: Fault = { kind: "timeout", stage: "total", afterMs: 1000, sent: "perhaps" };
const LOST: Fault = { kind: "lost", stage: "headers", code: undefined, sent: "perhaps" };
const AWAY: Fault = { kind: "unreachable", code: "ECONNREFUSED", sent: "no" };
const answeredBy = (status: number, more: Partial<HttpFacts> = {}): Fault => ({
  kind: "status",
  http: { status, contentType: "", ...more },
  sent: "yes",
});

/** The gate of each call to one upstream of one tenant. */
function upstream({ tenant = crypto.randomUUID(), id = "up", timeoutMs = 1000 } = {}) {
  return () => new CircuitGate({ tenant, id, configHash: "c1", timeoutMs });
}

function failing(gateOf: () => CircuitGate, fault: Fault, at = 0) {
  for (let time = 0; time < MAX_CONSECUTIVE_FAILURES; time += 1) gateOf().recordFailure(fault, false, at);
}

describe("calls that fail five times in a row", () => {
  it.each([
    ["take too long", LATE],
    ["lose their connection", LOST],
    ["cannot reach it", AWAY],
    ["are answered 500", answeredBy(500)],
  ])(
    "because they %s keep all callers of the tenant from the upstream, until one of them is answered",
    (_what, fault) => {
      const gateOf = upstream();
      failing(gateOf, fault);
      expect(gateOf().check(1)).toMatchObject({ error: "unreachableServer", data: { retryAfter: 5 } });
      const probe = gateOf();
      expect(probe.check(5000)).toBeUndefined();
      expect(gateOf().check(5000)).toBeDefined();
      probe.recordSuccess();
      expect(gateOf().check(5001)).toBeUndefined();
    },
  );

  it.each([
    ["401", answeredBy(401)],
    ["404", answeredBy(404)],
    ["429 with Retry-After", answeredBy(429, { retryAfter: "60" })],
  ])("with %s leave the circuit closed: it may be about one caller", (_what, fault) => {
    const gateOf = upstream();
    for (let round = 0; round < 4; round += 1) failing(gateOf, fault);
    expect(gateOf().check(1)).toBeUndefined();
  });

  it("leave the circuit closed if it sent something meanwhile, or its caller left", () => {
    const gateOf = upstream();
    for (let time = 0; time < 9; time += 1) gateOf().recordFailure(LATE, true, 0);
    failing(gateOf, { kind: "cancelled", sent: "perhaps" });
    expect(gateOf().check(1)).toBeUndefined();
  });

  it("leave other upstreams' circuits closed, and those of other tenants", () => {
    const tenant = crypto.randomUUID();
    failing(upstream({ tenant }), AWAY);
    expect(upstream({ tenant, id: "beside" })().check(1)).toBeUndefined();
    expect(upstream()().check(1)).toBeUndefined();
  });

  it("let another call try the upstream where the first that tries it takes long", () => {
    const gateOf = upstream({ timeoutMs: 300_000 });
    failing(gateOf, AWAY);
    expect(gateOf().check(5000)).toBeUndefined();
    expect(gateOf().check(14_999)).toBeDefined();
    expect(gateOf().check(15_000)).toBeUndefined();
  });

  it("are logged once when the circuit opens, and once when the upstream answers again", () => {
    const lines = loggedStates();
    const gateOf = upstream();
    for (let now = 0; now < 100_000; now += 5000) failing(gateOf, AWAY, now);
    gateOf().recordSuccess();
    gateOf().recordSuccess();
    const at = { event: "upstream.circuit", tenant: expect.any(String) as string, upstream: "up" };
    const since = "1970-01-01T00:00:00.000Z";
    const why = "the server cannot be reached (ECONNREFUSED)";
    expect(lines).toEqual([
      { level: "warn", ...at, state: "open", was: "closed", why, since },
      { level: "info", ...at, state: "closed", was: "open", why: null, since },
    ]);
  });
});

it("a 503 with Retry-After opens the circuit for that time, and each caller gets the rest of it", () => {
  const gateOf = upstream();
  expect(gateOf().recordFailure(answeredBy(503, { retryAfter: "60" }), false, 0)).toBe(60);
  expect(gateOf().check(1000)).toMatchObject({ data: { retryAfter: 59 } });
  expect(gateOf().check(60_000)).toBeUndefined();
});

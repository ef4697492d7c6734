// Who is kept from an upstream by how the calls of others ended.

import { describe, expect, it } from "vitest";
import { CallGate } from "../../../src/gateway/guard/call-gate.ts";
import { FAILURES_IN_A_ROW } from "../../../src/gateway/guard/upstream-circuit.ts";
import type { Fault } from "../../../src/mcp-client/fault.ts";

const LATE: Fault = { kind: "timeout", stage: "total", afterMs: 1000, sent: "perhaps" };
const LOST: Fault = { kind: "lost", stage: "headers", code: undefined, sent: "perhaps" };
const AWAY: Fault = { kind: "unreachable", code: "ECONNREFUSED", sent: "no" };

function callers() {
  const tenant = crypto.randomUUID();
  return (principal: string) =>
    new CallGate({ tenant, id: "up", config: "c1", timeoutMs: 1000, principal, ofClient: {} });
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

  it("and are refused leave no probe of one's own behind", () => {
    const by = callers();
    failing(by("ann"), LATE);
    failing(by("bob"), AWAY, 4000);
    // Her own pause is over, and that of all is not.
    expect(by("ann").refusal(5000)).toBeDefined();
    expect(by("ann").refusal(9000)).toBeUndefined();
  });
});

// The official conformance suite through a gateway: two Workers in `wrangler dev`, the second with the fixture Worker for
// its only upstream, in the era of the suite's client. What may fail is listed in expected-failures.json.
import { describe, expect, it } from "vitest";
import { runConformance } from "../../scripts/conformance-run.ts";

const RUN_MS = 600_000;

describe("the official conformance suite through a gateway", () => {
  it.each([
    [
      "2025-11-25",
      "2025",
      "30/30 scored scenarios pass, 0 expected failures and 1 among those not scored",
      { "server-sse-polling": [] },
    ],
    [
      "2026-07-28",
      "2026",
      // The suite itself counts no warnings, and says 37 of 37.
      "36/37 scored scenarios pass, 1 expected failures",
      {
        "server-stateless": [
          "sep-2575-server-sends-prompts-list-changed-on-subscription",
          "sep-2575-server-sends-tools-list-changed-on-subscription",
        ],
      },
    ],
  ] as const)(
    "finds nothing unexpected in %s, with an upstream of era %s",
    async (revision, gatewayTo, summary, awaited) => {
      const [verdict] = await runConformance({ gatewayTo, revisions: [revision] });
      expect(verdict?.problems).toEqual([]);
      expect(verdict?.summary).toBe(summary);
      const failing = verdict?.scenarios.filter(({ outcome }) => outcome === "expected failure") ?? [];
      expect(failing.map(({ scenario }) => scenario)).toEqual(Object.keys(awaited));
      // A change that the upstream is read anew for just then is told all the same.
      for (const { scenario, faults } of failing)
        expect((awaited as Readonly<Record<string, readonly string[]>>)[scenario]).toEqual(
          expect.arrayContaining(faults.flatMap(checkIn)),
        );
    },
    RUN_MS,
  );
});

/** The id of the check that failed or warned; none where no check of the scenario did, and none succeeded either. */
function checkIn(fault: string): string[] {
  return /^(?:FAILURE|WARNING) ([^:]+):/.exec(fault)?.slice(1) ?? [];
}

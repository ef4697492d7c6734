// The client scenarios of the official conformance suite, with the running gateway for the client: all but those where a
// person logs in. What may fail is listed in test/conformance/expected-failures.json.

import { describe, expect, it } from "vitest";
import { runClientConformance } from "../../scripts/conformance-client.ts";

const RUN_MS = 600_000;

/** Bridging will bring them. */
const AWAITED = { "2025-11-25": ["elicitation-sep1034-client-defaults"], "2026-07-28": [] } as const;

describe("the gateway as the client of the official suite's servers", () => {
  it.each([
    ["2025-11-25", "3/4 scored scenarios pass, 1 expected failures", ["initialize", "sse-retry", "tools_call"]],
    [
      "2026-07-28",
      "7/7 scored scenarios pass, 0 expected failures",
      [
        "http-custom-headers",
        "http-invalid-tool-headers",
        "http-standard-headers",
        "json-schema-ref-no-deref",
        "request-metadata",
        "sep-2322-client-request-state",
        "tools_call",
      ],
    ],
  ] as const)(
    "does in %s all that is asked of it",
    async (revision, summary, scored) => {
      const [verdict] = await runClientConformance([revision]);
      for (const { scenario, outcome, succeeded } of verdict?.scenarios ?? [])
        console.log(`${revision}  ${scenario.padEnd(40)} ${outcome}, ${succeeded} checks`);
      expect(verdict?.problems).toEqual([]);
      expect(verdict?.summary).toBe(summary);
      const passed = verdict?.scenarios.filter(({ kind, outcome }) => kind === "scored" && outcome === "pass");
      expect(passed?.map(({ scenario }) => scenario).toSorted()).toEqual(scored);
      const awaited = verdict?.scenarios.filter(({ outcome }) => outcome === "expected failure");
      expect(awaited?.map(({ scenario }) => scenario)).toEqual(AWAITED[revision]);
    },
    RUN_MS,
  );
});

// The judge of a conformance run: what passes, what fails, what is expected, what is stale.
import { describe, expect, it } from "vitest";
import type { Check } from "../../scripts/conformance-verdict.ts";
import { judge } from "../../scripts/conformance-verdict.ts";

const good: Check = { id: "fine", status: "SUCCESS" };
const warning: Check = { id: "meh", status: "WARNING", errorMessage: "should be better" };
const failure: Check = { id: "bad", status: "FAILURE", errorMessage: "is wrong" };
const skipped: Check = { id: "later", status: "SKIPPED" };

function judgeOne(kind: string, checks: Check[] | undefined, expected = false) {
  const run = new Map(checks === undefined ? [] : [["one", checks]]);
  const list = expected ? [{ scenario: "one", reason: "not yet", issue: "streams" }] : [];
  return judge("2026-07-28", [{ name: "one", kind }], run, list);
}

describe("judge", () => {
  it.each([
    ["only successes", "scored", [good], []],
    ["successes and skipped checks", "scored", [good, skipped], []],
    ["a failure in an extension", "extension", [good, failure], []],
  ])("passes %s", (_title, kind, checks, problems) => {
    expect(judgeOne(kind, checks)).toMatchObject({ pass: true, problems });
  });

  it.each([
    ["a failure", "scored", [good, failure], "one: FAILURE bad: is wrong"],
    ["a warning", "scored", [good, warning], "one: WARNING meh: should be better"],
    ["a warning in a pending scenario", "pending", [good, warning], "one: WARNING meh: should be better"],
    ["a scenario that shows nothing", "scored", [skipped], "one: no check succeeded"],
    [
      "a scenario without checks",
      "scored",
      undefined,
      "one: the suite left no checks: the scenario threw or never ran",
    ],
  ])("refuses %s", (_title, kind, checks, problem) => {
    expect(judgeOne(kind, checks)).toMatchObject({ pass: false, problems: [problem] });
  });

  it("accepts a failure that is listed, and counts it", () => {
    const verdict = judgeOne("scored", [failure], true);
    expect(verdict).toMatchObject({ pass: true, summary: "0/1 scored scenarios pass, 1 expected failures" });
  });

  it("refuses in a listed scenario what is not among its listed checks", () => {
    const only = (checks: string[], found: Check[] = [good, warning, failure]) =>
      judge("2026-07-28", [{ name: "one", kind: "scored" }], new Map([["one", found]]), [
        { scenario: "one", checks, reason: "not yet", issue: "streams" },
      ]);
    expect(only(["bad", "meh"])).toMatchObject({ pass: true, problems: [] });
    expect(only(["meh"])).toMatchObject({ pass: false, scenarios: [{ outcome: "fail" }] });
    expect(only(["meh"], [warning])).toMatchObject({ pass: true });
    expect(
      judge("2026-07-28", [{ name: "one", kind: "scored" }], new Map(), [
        { scenario: "one", checks: ["meh"], reason: "", issue: "" },
      ]).pass,
    ).toBe(false);
  });

  it("refuses a listed scenario that passes", () => {
    expect(judgeOne("scored", [good], true)).toMatchObject({
      pass: false,
      problems: ["one: expected to fail, but passes; unlist it"],
    });
  });

  it("refuses a listed scenario that the revision does not have", () => {
    const expected = [{ scenario: "gone", reason: "not yet", issue: "streams" }];
    const verdict = judge("2026-07-28", [{ name: "one", kind: "scored" }], new Map([["one", [good]]]), expected);
    expect(verdict.pass).toBe(false);
  });
});

// What helps with an upstream that cannot be read: the command line and docs/gateway.md say the same, and no reason goes
// without.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { whatHelps } from "../../../../src/clients/cli/terminal/what-helps.ts";
import { describeFault, type Fault, type FaultKind } from "../../../../src/mcp-client/fault.ts";
import { OutboundError } from "../../../../src/outbound/outbound-error.ts";

const AT = { tenant: "acme", upstream: "tracker" };
const page = readFileSync(join(import.meta.dirname, "../../../../docs/gateway.md"), "utf8");
const [, table = ""] = page.split(/^\| reason +\| what helps +\|\n/m);
const rows = (table.split("\n\n")[0] ?? "")
  .split("\n")
  .slice(1)
  .map((line) => line.split("|").map((cell) => cell.trim()))
  .map(([, reasons = "", helps = ""]) => ({ reasons, helps: helps.replaceAll("`", "") }));

it("has its rows", () => {
  expect(rows.length).toBeGreaterThan(18);
});

describe.each(rows)("$reasons", ({ reasons, helps }) => {
  it.each([...reasons.matchAll(/`([^`]+)`/g)].map(([, reason = ""]) => reason))(
    "%s helps what the page says",
    (reason) => {
      // Letters that stand for what a server says stay: they are names, too.
      expect(whatHelps(reason.replaceAll(/\bN\b/g, "3"), AT)).toBe(helps);
    },
  );
});

const http = (status: number) => ({ status, contentType: "" });
const lost = { kind: "lost", sent: "perhaps", stage: "headers", code: undefined } as const;
const FAULTS: { readonly [Kind in Exclude<FaultKind, "cancelled" | "refused">]: readonly Fault[] } = {
  unreachable: [{ kind: "unreachable", sent: "no", code: "ECONNREFUSED" }],
  lost: [lost, { ...lost, stage: "body", code: "reset" }],
  timeout: (["headers", "silence", "total"] as const).map((stage) => ({
    kind: "timeout",
    sent: "yes",
    stage,
    afterMs: 5,
  })),
  tooLarge: [
    { kind: "tooLarge", sent: "yes", what: "response", limitBytes: 5 },
    { kind: "tooLarge", sent: "yes", what: "message", limitBytes: 5 },
    { kind: "tooLarge", sent: "yes", what: "stream", limitLines: 5 },
  ],
  redirect: [{ kind: "redirect", sent: "yes", http: http(308), location: undefined }],
  status: [400, 401, 403, 404, 405, 406, 429, 500, 502, 503, 530].map((status) => ({
    kind: "status",
    sent: "yes",
    http: http(status),
  })),
  notMcp: [{ kind: "notMcp", sent: "yes", http: http(200) }],
  sessionGone: [{ kind: "sessionGone", sent: "yes", http: http(404), error: undefined }],
  unanswered: [{ kind: "unanswered", sent: "yes", http: http(200) }],
  unresumable: [{ kind: "unresumable", sent: "yes", why: lost }],
  violation: [{ kind: "violation", sent: "yes", rule: "wrongId", detail: "x" }],
};

it.each(Object.values(FAULTS).flat().map(describeFault))("something helps where %s", (why) => {
  expect(whatHelps(why, AT)).toMatch(/\w/);
});

it("something helps where a request may not leave", () => {
  expect(whatHelps(new OutboundError("address").message, AT)).toContain("docs/outbound.md");
});

it("each of several reasons is helped", () => {
  const both = "it lists more than 1000 definitions; the first 1000 are here; 2 definitions wait for approval";
  expect(whatHelps(both, AT)).toBe(
    "more than a tenant takes: ask the server's operator for a smaller list. tenantry upstream pending acme tracker, then approve or reject",
  );
});

it("a reason is known with a state before it", () => {
  const why = "the server answered 404 (text/plain)";
  expect(whatHelps(`last good: ${why}`, AT)).toBe(whatHelps(why, AT));
});

it("nothing is made up for a reason that nobody knows", () => {
  expect(whatHelps("the moon is full", AT)).toBeUndefined();
});

// The tables of docs/limits.md: the limits that can be set, and the fixed ones. The rest of the page is written by hand.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { LIMITS } from "../../src/limits/limit-definitions.ts";
import { withRows } from "./table.ts";

const ROOT = join(import.meta.dirname, "../..");

const HOURS_PER_DAY = 24;

/** `before`: the text before the number in a file of src. `unit`: the number that counts as one. */
const FIXED: readonly (readonly [about: string, file: string, before: string, unit?: number])[] = [
  ["messages of a batch", "protocol/classify.ts", "MAX_BATCH ="],
  ["bytes of a URI", "protocol/uri.ts", "MAX_URI_BYTES ="],
  ["resources that one stream listens to", "protocol/methods/subscriptions.ts", "MAX_LISTENED_URIS ="],
  ["resources that one session subscribes to", "sessions/session-object.ts", "MAX_SUBSCRIPTIONS ="],
  ["notification streams of a tenant in one hub", "streams/hub-object.ts", "MAX_STREAMS ="],
  ["stored calls of a session", "sessions/call-store.ts", "MAX_CALLS ="],
  ["levels of nesting in a body", "endpoint/body.ts", "MAX_DEPTH ="],
  ["objects and lists in a body, or in one message of an upstream", "protocol/jsonrpc.ts", "MAX_CONTAINERS ="],
  ["members and elements in a body", "protocol/jsonrpc.ts", "MAX_VALUES ="],
  ["unfinished sign-ins to one tenant in one browser", "login/server/transaction.ts", "MAX_TRANSACTIONS ="],
  [
    "rows of `usage()` in an hour; one extra row counts all other calls",
    "records/usage-store.ts",
    "MAX_ROWS_PER_HOUR =",
  ],
  ["number of days that hourly usage is stored", "records/usage-store.ts", "RETAINED_HOURS =", HOURS_PER_DAY],
  ["number of days that daily usage is stored", "records/usage-store.ts", "RETAINED_DAYS ="],
  ["a tenant's recorded calls", "records/call-audit-store.ts", "MAX_RECORDED_CALLS ="],
  ["bytes of a tenant's recorded calls", "records/call-audit-store.ts", "MAX_RECORDED_BYTES ="],
  [
    "characters of recorded arguments; longer arguments become a digest",
    "records/redact-arguments.ts",
    "MAX_ARGUMENT_CHARACTERS =",
  ],
  ["messages that wait for a tenant's webhooks", "records/webhook-store.ts", "MAX_QUEUED ="],
  [
    "requests that one call can have open at once, to upstreams or by `ctx.fetch`",
    "outbound/guarded-fetch.ts",
    "MAX_PER_CALL =",
  ],
  [
    "requests that one tenant can have open at once in one isolate, to upstreams or by `ctx.fetch`",
    "outbound/guarded-fetch.ts",
    "MAX_PER_TENANT =",
  ],
  [
    "calls to upstreams that run at once in one isolate",
    "gateway/guard/fair-semaphore.ts",
    "upstreamCalls = new FairSemaphore({ max:",
  ],
  ["bytes in all lists of one upstream", "tenants/object/section-store.ts", "MAX_SECTION_BYTES ="],
  ["bytes in all upstream lists of one tenant", "tenants/object/section-store.ts", "MAX_SECTIONS_BYTES ="],
  ["bytes in all parsed lists in one isolate", "tenants/cache/section-cache.ts", "MAX_BYTES ="],
  [
    "pattern characters times name characters, for patterns with an inner `*` or `?`",
    "resources/pattern-budget.ts",
    "MAX_PATTERN_WORK =",
  ],
  ["stored errors of a tenant", "tenants/object/error-log-store.ts", "MAX_TENANT_ERRORS ="],
  ["stored errors of the platform", "tenants/object/error-log-store.ts", "MAX_PLATFORM_ERRORS ="],
];

export function limitsPage(): string {
  const limits = Object.entries(LIMITS).map(([name, { initial, unit, raise, about }]) => [
    `\`${name}\``,
    initial === Infinity ? "none" : initial.toLocaleString("en-US"),
    unit,
    raise,
    about,
  ]);
  const fixed = FIXED.map(([about, file, before, unit = 1]) => [
    about,
    (numberAfter(before, file) / unit).toLocaleString("en-US"),
  ]);
  const page = readFileSync(join(ROOT, "docs/limits.md"), "utf8");
  const withLimits = withRows(page, ["limit", "default", "counts", "raised by", "meaning"], limits);
  return withRows(withLimits, ["fixed limit", "number"], fixed);
}

/** A product of whole numbers. */
function numberAfter(before: string, file: string): number {
  const source = readFileSync(join(ROOT, "src", file), "utf8");
  const [, digits] = /^ ([\d_]+(?: \* [\d_]+)*)[;,]/.exec(source.slice(source.indexOf(before) + before.length)) ?? [];
  if (digits === undefined || !source.includes(before)) throw new Error(`src/${file}: no number after ${before}`);
  return digits.split(" * ").reduce((product, factor) => product * Number(factor.replaceAll("_", "")), 1);
}

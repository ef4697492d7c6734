// docs/costs.md, which is made of the table of what was counted, of prices, and of one month.

import type { Bill, BilledTable } from "./billed.ts";
import * as month from "./month.ts";
import { amountsOf, PLAN_USD, PRICES, READ_ON, usdOf, type Amounts, type Price, type Priced } from "./prices.ts";

const number = (amount: number) => Math.round(amount).toLocaleString("en-US");
const usd = (amount: number) => amount.toFixed(2);
const row = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [row(head), row(head.map(() => "---")), ...rows.map(row)].join("\n");
}

function kinds(counted: BilledTable): string {
  const columns: readonly (readonly (keyof Bill)[])[] = [
    ["objectCalls"],
    ["socketMessages"],
    ["rowsRead"],
    ["rowsWritten", "alarmsSet"],
    ["kvReads"],
    ["kvWrites"],
    ["kvDeletes"],
  ];
  const head = [
    "what",
    "requests",
    "object calls",
    "messages",
    "rows read",
    "written",
    "KV read",
    "written",
    "deleted",
  ];
  const amount = (bill: Bill, members: readonly (keyof Bill)[]) =>
    members.reduce((sum, member) => sum + (bill[member] ?? 0), 0);
  const rows = Object.entries(counted).map(([name, kind]) => {
    const cells = columns.map((members) => {
      const [atOnce, later] = [amount(kind.atOnce, members), amount(kind.later, members)];
      return later === 0 ? String(atOnce) : `${atOnce} + ${later}`;
    });
    return [name, String(kind.requests), ...cells, usd(1e6 * usdOf(amountsOf(kind)))];
  });
  return table([...head, "USD per million"], rows);
}

function prices(): string {
  const rows = (Object.values(PRICES) as readonly Price[]).map(({ what, usd: price, included }) => [
    what,
    String(price),
    number(included),
  ]);
  return table(["what", "USD per million", "included in a month"], rows);
}

function monthRows({ amounts, usd: parts }: month.Month): string {
  const rows = (Object.keys(amounts) as Priced[])
    .filter((name) => (amounts[name] ?? 0) > 0)
    .map((name) => [PRICES[name].what, number(amounts[name] ?? 0), usd(parts[name] ?? 0)]);
  return table(["what", "in the month", "USD"], [...rows, ["the plan", "", usd(PLAN_USD)]]);
}

const perThousand = (counted: BilledTable): Amounts => month.streams(counted, 1000);

/** The page, which oxfmt has yet to lay out. */
export function costsPage(counted: BilledTable): string {
  const reckoned = month.reckonMonth(counted);
  const calls = month.TENANTS * month.CALLS_A_DAY;
  return `# What it costs

Made by \`npx node scripts/costs.ts\` from \`scripts/costs/billed.json\`, which a test counts: each kind of request is sent to a Worker whose
bindings, SQLite and alarms are counted and are the real ones. It fails when a kind costs more than this page says, or less.
\`npx node scripts/costs.ts --count\` counts again and writes both.

## A month

${number(month.TENANTS)} tenants with ${number(month.CALLS_A_DAY)} calls a day each (${number(calls)} in all), and ${number(month.STREAMS)} streams that stand all day:
**USD ${usd(reckoned.total)}**. Of it, the streams are USD ${usd(usdOf(month.streams(counted, month.STREAMS)))}, which is USD ${usd(usdOf(perThousand(counted)))} a month for 1,000 idle streams, and the rest is what the calls
of ${number(month.TENANTS)} tenants cost, with the plan.

${monthRows(reckoned)}

It assumes that

- every call finds its tenant's lease ended, for an isolate that a tenant's call reaches every nine seconds has one of five. Where calls are more frequent, or
  \`maxStalenessMs\` is larger, most cost no object call at all;
- callers have keys, whose last use is written once an hour;
- a call takes ${month.CPU_MS} ms of the Worker's CPU, a tool's own work not counted, and an object runs ${month.OBJECT_MS} ms for each call to it;
- a stream ends after ${month.STREAM_MINUTES} minutes, and its client opens the next one; that it is idle otherwise costs nothing: comments that keep it
  open are written by the Worker, which is billed for CPU, and the object behind it hibernates;
- one request of a thousand fails and has an entry in the logs, and tools write one for ${100 * month.LOGGED} % of requests.

Not in it: what is stored (USD 0.20 a GB and month in objects beyond 5 GB, 0.50 in KV beyond 1 GB), events of \`telemetry()\` where a
dataset is bound (USD 0.25 a million: \`TELEMETRY_SAMPLE\` says of which part of the requests there is one), and what tools and upstreams
cost where they run.

## Logs

With every request in Workers Logs, this month would have ${number((reckoned.amounts.requests ?? 0) * 2)} entries or more, which is USD ${usd((((reckoned.amounts.requests ?? 0) * 2 - PRICES.logEvents.included) / 1e6) * PRICES.logEvents.usd)}. \`wrangler.toml\`
therefore has \`invocation_logs = false\`: a request writes no entry by itself, and what fails is written by the Worker, always. \`head_sampling_rate\`
stays at 1: it chooses requests before anybody knows whether they fail, so at 0.01 of a hundred errors 99 would be lost. Who wants to
see every request for an hour sets \`invocation_logs = true\`, or runs \`wrangler tail\`, which costs nothing.

## Of each kind

\`a + b\`: a at once, b by alarms within the hour after it (of sessions, when they end). Rows are those that SQLite says it read and
wrote; an alarm that is set is a written row, one that rings an object call. In the last column nothing is included in the plan, and
no CPU, time and log.

${kinds(counted)}

A stream that stands for an hour is opened ${60 / month.STREAM_MINUTES} times, for a day ${(24 * 60) / month.STREAM_MINUTES} times: USD ${usd(usdOf(month.streams(counted, 1, 1)) * 1e6)} for a million of such days.
How many streams are told of a change makes no difference to objects: what leaves them by WebSocket is free, and the streams of an isolate
share a look at what changed.

## Prices

Workers Paid, USD ${PLAN_USD} a month, read on ${READ_ON}:
[Workers](https://developers.cloudflare.com/workers/platform/pricing/),
[Durable Objects](https://developers.cloudflare.com/durable-objects/platform/pricing/),
[KV](https://developers.cloudflare.com/kv/platform/pricing/).

${prices()}

## KV and where it stores

KV keeps bodies of resources, catalogs of upstreams, and where tenants are placed. Each of its keys is written
at most once a second, and most are written once, for a key names what is stored under it.

KV knows no jurisdictions: what it stores is copied to wherever it is read. A tenant with a \`jurisdiction\` has its objects there (its
document, keys, index, words of texts, audit log, sessions), but **the bodies of its resources lie in KV like everybody's**. Where bodies
must not leave a jurisdiction, store none: keep them at a server of your own there, and let a template or a tool read them.
`;
}

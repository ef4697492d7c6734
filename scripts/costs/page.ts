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
const parts = ({ amounts, usd: of }: month.Month, names: readonly Priced[]) =>
  names.map((name) => [PRICES[name].what, number(amounts[name] ?? 0), usd(of[name] ?? 0)]);

/** The page, which oxfmt has yet to lay out. */
export function costsPage(counted: BilledTable): string {
  const plain = month.reckonMonth(counted);
  const withUsage = month.reckonMonth(counted, { usage: true });
  const requests = plain.amounts.requests ?? 0;
  const logged = ((requests * 2 - PRICES.logEvents.included) / 1e6) * PRICES.logEvents.usd;
  const calls = month.TENANTS * month.CALLS_A_DAY;
  return `# Costs

This page shows the price of tenantry on Cloudflare: the price of a month, and the price of each kind of request.

${table(
  ["a month", "USD"],
  [
    [
      `${number(month.TENANTS)} tenants, ${number(calls)} calls a day, ${number(month.STREAMS)} open streams`,
      usd(plain.total),
    ],
    ["the same with [usage()](usage.md)", usd(withUsage.total)],
    ["1,000 idle streams", usd(usdOf(perThousand(counted)))],
    ["the plan (Workers Paid), which the first two totals include", usd(PLAN_USD)],
  ],
)}

\`npx node scripts/costs.ts\` writes this page from \`scripts/costs/billed.json\`. A test sends each kind of request to a real Worker, and counts calls of
bindings, SQLite rows and alarms. The test fails if a kind of request costs more or less than this page says. \`npx node scripts/costs.ts --count\` counts again, and writes
both files.

## A month

The first row of the table above is for ${number(month.TENANTS)} tenants with ${number(month.CALLS_A_DAY)} calls a day each, and ${number(month.STREAMS)} streams that are open all day. The streams cost USD ${usd(usdOf(month.streams(counted, month.STREAMS)))} of the total.
With ${number(month.CALLS_A_DAY)} calls a day for all tenants together, and no open streams, you pay only the plan: USD ${usd(PLAN_USD)}.

${monthRows(plain)}

Assumptions:

- Each call reads the tenant's policy from the tenant's object. The _lease_ is the time for which an isolate may use a cached policy, 5 s by default. Here, each isolate gets less than one
  call in that time. With more calls, or a larger \`maxStalenessMs\`, most calls do not need the object.
- Callers have keys. The time of a key's last use is written once an hour.
- A call takes ${month.CPU_MS} ms of CPU in the Worker, not counting the work of the tool. Each call of an object keeps the object active for ${month.OBJECT_MS} ms.
- A stream ends after ${month.STREAM_MINUTES} minutes, and the client opens the next one. While a stream is open, the object hibernates. The Worker's keepalives
  cost only CPU.
- One in 1,000 requests fails and writes a log entry. Tools write a log entry for ${100 * month.LOGGED} % of requests.

### With usage()

\`usage()\` sends an isolate's counts to the tenant's object, at most every ten seconds. Under the assumptions above, the counts of
each call are sent separately. Each call then causes one object call and two written rows. The bill then has these rows instead:

${table(["what", "in the month", "USD"], parts(withUsage, ["objectRequests", "objectSeconds", "rowsWritten"]))}

If an isolate serves many calls of a tenant within ten seconds, it reports their counts together, in one request to the object. This request writes one row, and
one more row for each tool. \`callAudit()\` sends records every second, and writes a row for each call.

### Not included

| what                                             | USD                                        |
| ------------------------------------------------ | ------------------------------------------ |
| storage of objects, beyond 5 GB                  | 0.20 per GB and month                        |
| storage of KV, beyond 1 GB                       | 0.50 per GB and month                        |
| events of \`telemetry()\` in a dataset             | 0.25 per million events |
| the work of tools and of upstreams (other MCP servers) | paid to the provider that runs them |

To send fewer events of \`telemetry()\`, set \`TELEMETRY_SAMPLE\`.

## Logs

If every request wrote a log entry, this month would have ${number(requests * 2)} entries or more. They would cost USD ${usd(logged)}. Therefore, \`wrangler.toml\` has \`invocation_logs = false\`. With this setting,
a successful request writes no entry, unless your code logs. An error always writes an entry.

Leave \`head_sampling_rate\` at 1. Cloudflare samples before a request runs, so a rate of 0.01 would lose 99 of 100 errors. To see every request for an hour, set \`invocation_logs = true\`. You can also run \`wrangler tail\`, which is free.

## Each kind of request

In a cell such as \`3 + 4\`, the first number counts what the request itself causes. The second number counts what happens later, in alarms within the next hour or at the end of a session. Setting an alarm counts as a written row. An alarm that fires counts as an object call. The last column does not subtract the amounts that the plan
includes. This column also leaves out CPU, object time and logs.

${kinds(counted)}

An isolate keeps a cached policy until the lease ends. Without a cached policy, a call reads the policy from the tenant's object.

A client opens its stream ${60 / month.STREAM_MINUTES} times an hour, and thus ${(24 * 60) / month.STREAM_MINUTES} times a day. A million streams for a day cost USD ${usd(usdOf(month.streams(counted, 1, 1)) * 1e6)}. A change costs the same, no matter how many streams get it. WebSocket messages from objects are free, and the streams of an isolate share one read.

## Prices

The plan is Workers Paid, for USD ${PLAN_USD} a month. These are Cloudflare's prices of ${READ_ON}:
[Workers](https://developers.cloudflare.com/workers/platform/pricing/),
[Durable Objects](https://developers.cloudflare.com/durable-objects/platform/pricing/),
[KV](https://developers.cloudflare.com/kv/platform/pricing/).

${prices()}

## Where KV stores data

KV stores bodies of resources, catalogs of upstreams, and the region of each tenant. tenantry writes each KV key at most once a second, and most keys only once.

KV has no jurisdictions: Cloudflare copies a value to every place that reads it. If a tenant has a \`jurisdiction\`, its Durable Objects are in that jurisdiction. These objects store the
document, keys, search index, audit log and sessions. **The bodies of its resources are in KV, like those of every tenant.** If bodies must stay in a jurisdiction, do not store resources. Keep the bodies on a server of yours in that jurisdiction, and read them in a resource template or a tool.
`;
}

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

This page says what Cloudflare bills for tenantry, for a month and for each kind of request.

${table(
  ["a month", "USD"],
  [
    [
      `${number(month.TENANTS)} tenants, ${number(calls)} calls a day, ${number(month.STREAMS)} open streams`,
      usd(plain.total),
    ],
    ["the same with [usage()](usage.md)", usd(withUsage.total)],
    ["1,000 idle streams", usd(usdOf(perThousand(counted)))],
    ["the plan (Workers Paid), in the first two rows", usd(PLAN_USD)],
  ],
)}

\`npx node scripts/costs.ts\` writes this page from \`scripts/costs/billed.json\`. A test sends each kind of request to a real Worker, and counts calls of
bindings, SQLite rows and alarms. It fails if a kind costs more or less than this page says. \`npx node scripts/costs.ts --count\` counts again and writes both.

## A month

The first row is ${number(month.TENANTS)} tenants with ${number(month.CALLS_A_DAY)} calls a day each, and ${number(month.STREAMS)} streams that are open all day. The streams are USD ${usd(usdOf(month.streams(counted, month.STREAMS)))} of it.

${monthRows(plain)}

Assumptions:

- Each call reads the tenant's policy from its object. An isolate may use a cached policy only for its _lease_, 5 s by default, and here each isolate gets a call less often. With
  more calls, or a larger \`maxStalenessMs\`, most calls need no object.
- Callers have keys. The time of a key's last use is written once an hour.
- A call takes ${month.CPU_MS} ms of CPU in the Worker, without the work of the tool. An object runs ${month.OBJECT_MS} ms for each call to it.
- A stream ends after ${month.STREAM_MINUTES} minutes, and its client opens the next one. Its object hibernates meanwhile, and the Worker's keepalives
  cost only CPU.
- One request of 1,000 fails and writes a log entry. Tools write one for ${100 * month.LOGGED} % of requests.

### With usage()

\`usage()\` sends what an isolate counted to the tenant's object, at most every ten seconds. Under the assumptions above each call is sent by itself: one object call and two
rows written. The bill then has these rows instead:

${table(["what", "in the month", "USD"], parts(withUsage, ["objectRequests", "objectSeconds", "rowsWritten"]))}

If one isolate gets many calls of a tenant within ten seconds, they share an object call, and each tool adds one row. \`callAudit()\` sends every second, and writes a row
for each call.

### Not in it

| what                                             | USD                                        |
| ------------------------------------------------ | ------------------------------------------ |
| storage of objects, beyond 5 GB                  | 0.20 a GB and month                        |
| storage of KV, beyond 1 GB                       | 0.50 a GB and month                        |
| events of \`telemetry()\` in a dataset             | 0.25 a million; \`TELEMETRY_SAMPLE\` lowers it |
| the work of tools, and upstreams (other MCP servers) | what they cost where they run          |

## Logs

If every request wrote a log entry, this month would have ${number(requests * 2)} entries or more: USD ${usd(logged)}. So \`wrangler.toml\` has \`invocation_logs = false\`. A
request writes no entry by itself; the Worker always writes an entry for an error.

Leave \`head_sampling_rate\` at 1. Cloudflare samples before a request runs, so a rate of 0.01 would lose 99 of 100 errors. To see every request for an hour, set
\`invocation_logs = true\`, or run \`wrangler tail\`, which costs nothing.

## Each kind of request

\`a + b\` means: a during the request, b by alarms within the next hour, or at the end of a session. Setting an alarm is a written row; an alarm that fires is an object call. The last
column counts nothing as included in the plan, and leaves out CPU, object time and logs.

${kinds(counted)}

"Policy cached" means that the call runs within the lease; "policy fetched" means that the lease has ended.

A stream that is open for an hour is opened ${60 / month.STREAM_MINUTES} times, for a day ${(24 * 60) / month.STREAM_MINUTES} times: USD ${usd(usdOf(month.streams(counted, 1, 1)) * 1e6)} for a million of such days. A change costs the same
for one stream and for many: WebSocket messages that objects send are free, and the streams of an isolate share one read.

## Prices

Workers Paid, USD ${PLAN_USD} a month, read on ${READ_ON}:
[Workers](https://developers.cloudflare.com/workers/platform/pricing/),
[Durable Objects](https://developers.cloudflare.com/durable-objects/platform/pricing/),
[KV](https://developers.cloudflare.com/kv/platform/pricing/).

${prices()}

## KV and where it stores

KV stores bodies of resources, catalogs of upstreams, and the region of each tenant. tenantry writes each KV key at most once a second, and most keys only once.

KV has no jurisdictions: Cloudflare copies a value to wherever it is read. A tenant with a \`jurisdiction\` has its Durable Objects there: document, keys, search index, audit log and
sessions. **The bodies of its resources are in KV, like those of every tenant.** If bodies must stay in a jurisdiction, store none. Keep them on your own server there, and
read them in a resource template or a tool.
`;
}

// docs/metrics.md: the counters and gauges of an isolate, and the fields of a request's event with their columns.

import { COUNTERS } from "../../src/telemetry/counters.ts";
import { GAUGES } from "../../src/telemetry/gauges.ts";
import { BLOBS, COUNTER_COLUMNS, DOUBLES, GAUGE_COLUMNS } from "../../src/telemetry/request-event.ts";
import { COUNTER_WORDS, FIELD_WORDS, GAUGE_WORDS } from "./metrics-words.ts";
import { table, wordsOf } from "./table.ts";

const BLOB_COLUMNS: readonly string[] = BLOBS;
const DOUBLE_COLUMNS: readonly string[] = [...DOUBLES, ...COUNTER_COLUMNS, ...GAUGE_COLUMNS];
/** Fields of `RequestEvent` that are no columns. */
const OTHER_FIELDS = ["at", "counts", "levels"];

const HEAD = `# Metrics

This page lists the counters and gauges of a Worker, and the fields of its request events. Counters, gauges and events need the feature [\`telemetry()\`](telemetry.md). \`tenantry\` stands for
\`npm run -s tenantry --\` in a checkout:

\`\`\`sh
tenantry metrics
tenantry metrics --json
\`\`\`

The command and \`GET /admin/v1/metrics\` show the counters and gauges of the isolate that answers. A Worker has many isolates. To get the numbers of the whole Worker, query its events in Workers Analytics Engine. Each counter and each gauge is a column there. For queries, see [Telemetry](telemetry.md#query-events). There is no Prometheus endpoint. \`npm run reference\` writes this page from the sources.

## Counters

A counter begins at 0 when the isolate starts. In an event, the column of a counter contains what the isolate counted since its last event. Requests without an event are included. For the whole Worker, add up the column. The sum does not include what an isolate counts after its last event.`;

const COUNTERS_TAIL = `Counters have no labels, but \`tenantry metrics\` splits \`refusals\` by the [name of the error](errors.md#mcp-endpoints). An event has the tenant, the method and the error of its request. The share of \`policyFetches\` rises if [leases](words.md) are short, or if many isolates share the traffic.

## Gauges

A gauge shows the current number in one isolate. Use the maximum or the mean of a column, not the sum. No column names the isolate.`;

const GAUGES_TAIL = `\`usage()\` stores calls after ten seconds. \`callAudit()\` stores them after one second. A small \`backlog\` is normal.

## Event fields

An event describes one request. The function \`to\` of \`telemetry({ to })\` gets the fields. A dataset has the columns. \`tenant\` is also \`index1\`.`;

const FIELDS_TAIL = `- \`principal\` is a keyed hash. For the same caller of a tenant, the hash stays the same until the tenant's keys are rotated.
- \`policy\` is \`fetched\` if the Worker called the tenant's Durable Object for the policy. \`policy\` is \`none\` if the request was refused before the Worker needed the policy.
- \`ms\` includes waiting time, but no computing time. The clock of a Worker advances only with I/O.
- \`bytesIn\` and \`bytesOut\` are bytes if the text is ASCII. If the Worker refused a body without reading it, \`bytesIn\` is the \`Content-Length\`.
- \`weight\` is 1 for a failed request. To count requests, use the sum of \`double1\`.
- A column keeps its meaning in later releases.`;

export function metricsPage(): string {
  const counterHead = (kind: string) => [kind, "unit", "column", "meaning", "what to watch"];
  const rowsOf = (words: typeof COUNTER_WORDS, kind: string, names: readonly string[]) =>
    wordsOf(kind, words, names).map(([name, [unit, ...rest]]) => [`\`${name}\``, unit, columnOf(name), ...rest]);
  const fields = wordsOf("event field", FIELD_WORDS, [...BLOBS, ...DOUBLES, ...OTHER_FIELDS]).map(
    ([name, [unit, meaning]]) => [`\`${name}\``, columnOf(name), unit, meaning],
  );
  const parts = [
    HEAD,
    table(counterHead("counter"), rowsOf(COUNTER_WORDS, "counter", Object.keys(COUNTERS.total))),
    COUNTERS_TAIL,
    table(counterHead("gauge"), rowsOf(GAUGE_WORDS, "gauge", Object.keys(GAUGES))),
    GAUGES_TAIL,
    table(["field", "column", "unit or value", "meaning"], fields),
    FIELDS_TAIL,
  ];
  return `${parts.join("\n\n")}\n`;
}

/** Columns are numbered from 1. */
function columnOf(name: string): string {
  if (OTHER_FIELDS.includes(name)) return "";
  const kind = BLOB_COLUMNS.includes(name) ? "blob" : "double";
  const columns = kind === "blob" ? BLOB_COLUMNS : DOUBLE_COLUMNS;
  if (!columns.includes(name)) throw new Error(`no column of an event has ${name}`);
  return `\`${kind}${columns.indexOf(name) + 1}\``;
}

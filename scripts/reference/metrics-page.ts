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

The command and \`GET /admin/v1/metrics\` show the counters and gauges of the isolate that answers. A Worker has many isolates. To measure the whole Worker, use the columns of events in
Workers Analytics Engine. See [Telemetry](telemetry.md#query-events) for queries. There is no Prometheus endpoint. \`npm run reference\` writes this page from the sources.

## Counters

A counter begins at 0 when the isolate starts. A column has the count since the last event of the same isolate, over all requests. For the whole Worker, add these values up. Only
the counts after the last event of an isolate are missing.`;

const COUNTERS_TAIL = `Counters have no labels, with one exception: \`tenantry metrics\` splits \`refusals\` by the [name of the error](errors.md#mcp-endpoints). Events have the tenant, the method and the error of their own
request. The share of \`policyFetches\` rises if [leases](words.md) are short, or if many isolates share the traffic.

## Gauges

A gauge has the value of one isolate at one time. Use the maximum or the mean of a column, not the sum. No column names the isolate.`;

const GAUGES_TAIL = `\`usage()\` stores calls after ten seconds, \`callAudit()\` after one. A small \`backlog\` is normal.

## Event fields

An event describes one request. The function \`to\` of \`telemetry({ to })\` gets the fields. A dataset has the columns. \`tenant\` is also \`index1\`.`;

const FIELDS_TAIL = `- \`principal\` is a keyed hash. It is the same for one caller of a tenant until the tenant's keys are rotated.
- \`policy\` is \`fetched\` if the Worker called the tenant's Durable Object for the policy. It is \`none\` if the request was refused before that.
- \`ms\` contains the time of waiting, but not of computing. The clock of a Worker advances only with I/O.
- \`bytesIn\` and \`bytesOut\` are bytes if the text is ASCII. For a body that was refused unread, \`bytesIn\` is the \`Content-Length\`.
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

// The route for a tenant's usage, as lines that a consumer can safely read twice. Needs the feature usage().

import type { UsageQuery, UsageLine } from "../../deployment/record-readers.ts";
import { isoTime } from "../services/propagation.ts";
import { requireTenant } from "../services/tenant-handle.ts";
import type { UsageLineShape, Infer } from "../contract.ts";
import { respondLines } from "../respond-lines.ts";
import { missingFeature } from "../problem.ts";
import { defineRoutes } from "../route.ts";
import { USAGE_ENDPOINTS } from "../endpoints/record-endpoints.ts";

const HOUR_MS = 3_600_000;
const LENGTH_MS = { hour: HOUR_MS, day: 24 * HOUR_MS } as const;

export const usageRoutes = defineRoutes(USAGE_ENDPOINTS, {
  "GET /tenants/{id}/usage/calls": async (context) => {
    const usage = context.options.features?.find((feature) => feature.usage)?.usage;
    if (!usage) throw missingFeature("Counts of calls need the feature usage()");
    const { id, stub, created } = await requireTenant(context, context.params.id);
    const { by = "hour", from, to, open = false } = context.query;
    const reader = usage(stub());
    const timeOf = (at: string | undefined, otherwise: number) =>
      at === undefined ? otherwise : Math.ceil(Date.parse(at) / LENGTH_MS[by]);
    let request: UsageQuery | undefined = { by, from: timeOf(from, 0), to: timeOf(to, 2 ** 40), open, after: null };
    return respondLines(async () => {
      if (!request) return [];
      const { lines, closedTo } = await reader.lines(request);
      const last = lines.at(-1);
      request = last && { ...request, after: last };
      return lines.map((line) => toUsageLine(line, { id, created, by, closedTo }));
    });
  },
});

interface UsageLineContext {
  readonly id: string;
  readonly created: string;
  readonly by: UsageQuery["by"];
  readonly closedTo: number;
}

/** The id is unique across tenants: a later tenant of the same name has another creation time. */
function toUsageLine(line: UsageLine, { id, created, by, closedTo }: UsageLineContext): Infer<typeof UsageLineShape> {
  const { time, profile, kind, name, upstream, ...counts } = line;
  const from = isoTime(time * LENGTH_MS[by]);
  return {
    id: [`${id}@${created}`, by, from, profile, kind, upstream, name].join("/"),
    tenant: id,
    from,
    to: isoTime((time + 1) * LENGTH_MS[by]),
    profile: profile || null,
    kind,
    name: name || null,
    upstream: upstream || null,
    ...counts,
    closed: time < closedTo,
  };
}

// Owns the route for a tenant's use, as lines that can be taken again. Refuses a Worker that counts nothing.

import type { UsageAsk, UsageLine } from "../../deployment/record-readers.ts";
import { isoTime } from "../apply/in-force.ts";
import { findManaged } from "../apply/tenant-access.ts";
import type { UsageLineShape, Infer } from "../contract.ts";
import { respondLines } from "../json-lines.ts";
import { lackingFeature } from "../problem.ts";
import { routes } from "../route.ts";
import { USAGE_ENDPOINTS } from "../endpoints/record-endpoints.ts";

const HOUR_MS = 3_600_000;
const MS = { hour: HOUR_MS, day: 24 * HOUR_MS } as const;

export const usageRoutes = routes(USAGE_ENDPOINTS, {
  "GET /tenants/{id}/usage/calls": async (call) => {
    const usage = call.options.features?.find((feature) => feature.usage)?.usage;
    if (!usage) throw lackingFeature("What was called needs the feature usage()");
    const { id, stub, created } = await findManaged(call, call.params.id);
    const { by = "hour", from, to, open = false } = call.query;
    const reader = usage(stub());
    const timeOf = (at: string | undefined, otherwise: number) =>
      at === undefined ? otherwise : Math.ceil(Date.parse(at) / MS[by]);
    let ask: UsageAsk | undefined = { by, from: timeOf(from, 0), to: timeOf(to, 2 ** 40), open, after: null };
    return respondLines(async () => {
      if (!ask) return [];
      const { lines, closedTo } = await reader.lines(ask);
      const last = lines.at(-1);
      ask = last && { ...ask, after: last };
      return lines.map((line) => lineShown(line, { id, created, by, closedTo }));
    });
  },
});

interface Of {
  readonly id: string;
  readonly created: string;
  readonly by: UsageAsk["by"];
  readonly closedTo: number;
}

/** No two lines of whichever tenants have one id: another tenant of the name was made at another time. */
function lineShown(line: UsageLine, { id, created, by, closedTo }: Of): Infer<typeof UsageLineShape> {
  const { time, profile, kind, name, upstream, ...counts } = line;
  const from = isoTime(time * MS[by]);
  return {
    id: [`${id}@${created}`, by, from, profile, kind, upstream, name].join("/"),
    tenant: id,
    from,
    to: isoTime((time + 1) * MS[by]),
    profile: profile || null,
    kind,
    name: name || null,
    upstream: upstream || null,
    ...counts,
    closed: time < closedTo,
  };
}

// Owns the routes by which an error is found again: by the id that its client was told, or the last ones of a tenant; and what the
// isolate that answers has counted. Refuses a tenant's own administrators the stack, which is of the Worker's code.

import type { NotedFault } from "../../tenants/authority/fault-tables.ts";
import { faultTables } from "../../tenants/authority/fault-tables.ts";
import { remote } from "../../tenants/authority/tables.ts";
import { COUNTERS } from "../../telemetry/counters.ts";
import { LEVELS } from "../../telemetry/levels.ts";
import { findManaged } from "../apply/tenant-access.ts";
import { NUMBER, pageFrom, positionOf, type PageAsk } from "../page.ts";
import { platformOf } from "../platform/platform-door.ts";
import { lackingFeature } from "../problem.ts";
import { routes, type Desk } from "../route.ts";
import { FAULT_ENDPOINTS } from "../endpoints/record-endpoints.ts";

/** Rows are up to 8 KB. */
const MOST_ROWS = 100;

type Asked = PageAsk & { readonly requestId?: string | undefined };
type ReadFaults = (ask: {
  requestId: string | null;
  before: number | null;
  limit: number;
}) => Promise<readonly NotedFault[]>;

function expectTelemetry({ options }: Desk): void {
  if (!options.features?.some(({ observe }) => observe))
    throw lackingFeature("errors and counters need the feature telemetry()");
}

async function faultPage(list: string, query: Asked, read: ReadFaults) {
  const before = positionOf(list, query, NUMBER);
  const limit = Math.min(query.limit, MOST_ROWS);
  const requestId = query.requestId ?? null;
  const rows = await read({ requestId, before: before === undefined ? null : Number(before), limit: limit + 1 });
  return pageFrom(list, rows, limit, ({ sequence }) => String(sequence));
}

/** What the platform's object knows only the tenant of is read where that keeps it. */
async function ledTo(desk: Desk, { requestId, tenant, message, ...rest }: NotedFault): Promise<readonly NotedFault[]> {
  const own = { requestId, tenant, message, ...rest };
  if (message !== "" || tenant === "") return [own];
  // It is gone or away: then the id is all that there is.
  const found = await findManaged(desk, tenant).catch(() => undefined);
  const kept = found && (await remote(found.stub(), faultTables).faults({ requestId, before: null, limit: MOST_ROWS }));
  return kept && kept.length > 0 ? kept : [own];
}

export const faultRoutes = routes(FAULT_ENDPOINTS, {
  "GET /errors": async (call) => {
    expectTelemetry(call);
    const { requestId } = call.query;
    const page = await faultPage("faults", call.query, (ask) => remote(platformOf(call.env), faultTables).faults(ask));
    if (requestId === undefined) return { body: page };
    const tenants = new Map(page.items.map((row) => [row.tenant, row]));
    const items = await Promise.all([...tenants.values()].map((row) => ledTo(call, row)));
    return { body: { ...page, items: items.flat() } };
  },
  "GET /tenants/{id}/errors": async (call) => {
    const { stub } = await findManaged(call, call.params.id);
    expectTelemetry(call);
    const page = await faultPage("tenant-faults", call.query, (ask) => remote(stub(), faultTables).faults(ask));
    if (call.caller.tenants === null) return { body: page };
    return { body: { ...page, items: page.items.map((row) => ({ ...row, stack: "" })) } };
  },
  "GET /metrics": async (call) => {
    expectTelemetry(call);
    return { body: { counts: COUNTERS.total, refusals: COUNTERS.refusals, levels: { ...LEVELS } } };
  },
});

// Routes for logged errors: by request id, the latest of a tenant, and the counts of the isolate that answers.
// Tenant-admins do not see stacks, which belong to the Worker's code.

import type { ErrorQuery, LoggedError } from "../../tenants/object/error-log-store.ts";
import { errorLogStore } from "../../tenants/object/error-log-store.ts";
import { createRpcClient } from "../../tenants/object/store.ts";
import { COUNTERS } from "../../telemetry/counters.ts";
import { GAUGES } from "../../telemetry/gauges.ts";
import { requireTenant } from "../services/tenant-handle.ts";
import { NUMBER_POSITION, paginateRows, parsePosition, type PageParams } from "../page.ts";
import { platformStubOf } from "../platform/platform-object.ts";
import { missingFeature } from "../problem.ts";
import { defineRoutes, type AdminContext } from "../route.ts";
import { ERROR_ENDPOINTS } from "../endpoints/record-endpoints.ts";

/** Rows have up to 8 KB. */
const MAX_ROWS = 100;

type ErrorPageRequest = PageParams & { readonly requestId?: string | undefined };
type ReadErrors = (query: ErrorQuery) => Promise<readonly LoggedError[]>;

function requireTelemetry({ options }: AdminContext): void {
  if (!options.features?.some(({ observe }) => observe))
    throw missingFeature("errors and counters need the feature telemetry()");
}

async function readErrorPage(list: string, query: ErrorPageRequest, read: ReadErrors) {
  const before = parsePosition(list, query, NUMBER_POSITION);
  const limit = Math.min(query.limit, MAX_ROWS);
  const requestId = query.requestId ?? null;
  const rows = await read({ requestId, before: before === undefined ? null : Number(before), limit: limit + 1 });
  return paginateRows(list, rows, limit, ({ sequence }) => String(sequence));
}

/** The platform object may know only the tenant of an error. The details are then in the tenant object. */
async function loadFullErrors(
  context: AdminContext,
  { requestId, tenant, message, ...rest }: LoggedError,
): Promise<readonly LoggedError[]> {
  const row = { requestId, tenant, message, ...rest };
  if (message !== "" || tenant === "") return [row];
  // If the tenant is deleted or unavailable, only the platform's row is left.
  const handle = await requireTenant(context, tenant).catch(() => undefined);
  const stored =
    handle &&
    (await createRpcClient(handle.stub(), errorLogStore).listErrors({ requestId, before: null, limit: MAX_ROWS }));
  return stored && stored.length > 0 ? stored : [row];
}

export const errorRoutes = defineRoutes(ERROR_ENDPOINTS, {
  "GET /errors": async (context) => {
    requireTelemetry(context);
    const { requestId } = context.query;
    const page = await readErrorPage("errors", context.query, (query) =>
      createRpcClient(platformStubOf(context.env), errorLogStore).listErrors(query),
    );
    if (requestId === undefined) return { body: page };
    const tenants = new Map(page.items.map((row) => [row.tenant, row]));
    const items = await Promise.all([...tenants.values()].map((row) => loadFullErrors(context, row)));
    return { body: { ...page, items: items.flat() } };
  },
  "GET /tenants/{id}/errors": async (context) => {
    const { stub } = await requireTenant(context, context.params.id);
    requireTelemetry(context);
    const page = await readErrorPage("tenant-errors", context.query, (query) =>
      createRpcClient(stub(), errorLogStore).listErrors(query),
    );
    if (context.caller.tenants === null) return { body: page };
    return { body: { ...page, items: page.items.map((row) => ({ ...row, stack: "" })) } };
  },
  "GET /metrics": async (context) => {
    requireTelemetry(context);
    return { body: { counts: COUNTERS.total, refusals: COUNTERS.refusals, levels: { ...GAUGES } } };
  },
});

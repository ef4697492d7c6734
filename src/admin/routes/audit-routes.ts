// Routes for audit logs and usage totals.

import type { AuditEntry } from "../../tenants/object/policy-records.ts";
import { countFittingEntries } from "../../tenants/object/audit-log.ts";
import { createRpcClient } from "../../tenants/object/store.ts";
import { mergeDocuments } from "../../tenants/document/tenant-document.ts";
import { operatorStore } from "../platform/operator-store.ts";
import { NUMBER_POSITION, paginateRows, parsePosition, type PageParams } from "../page.ts";
import { platformStubOf } from "../platform/platform-object.ts";
import { defineRoutes, type AdminContext } from "../route.ts";
import { requireTenant, requireTenantRecord } from "../services/tenant-handle.ts";
import { AUDIT_ENDPOINTS } from "../endpoints/record-endpoints.ts";

/** The most entries that the object returns at once, because entries may be large. */
const MAX_ENTRIES = 100;

type ReadAudit = (page: { before: number | null; limit: number }) => Promise<readonly AuditEntry[]>;

async function readAuditPage(list: string, query: PageParams, read: ReadAudit) {
  const before = parsePosition(list, query, NUMBER_POSITION);
  const limit = Math.min(query.limit, MAX_ENTRIES - 1);
  const rows = await read({ before: before === undefined ? null : Number(before), limit: limit + 1 });
  return paginateRows(list, rows, Math.min(limit, countFittingEntries(rows)), ({ sequence }) => String(sequence));
}

/** A tenant-admin sees the names of the tenant's own administrators only, not those of platform operators. */
async function redactActors(
  { env, caller }: AdminContext,
  id: string,
  entries: readonly AuditEntry[],
): Promise<AuditEntry[]> {
  if (caller.tenants === null) return [...entries];
  const all = await createRpcClient(platformStubOf(env), operatorStore).operators();
  const own = new Set(all.filter(({ tenants }) => tenants?.includes(id)).map(({ name }) => name));
  const isOwn = (actor: string) => own.has(actor) || /^(tenant-admin|key) /.test(actor);
  return entries.map((entry) => (isOwn(entry.actor) ? entry : { ...entry, actor: "operator" }));
}

export const auditRoutes = defineRoutes(AUDIT_ENDPOINTS, {
  "GET /audit": async ({ env, query }) => ({
    body: await readAuditPage("platform", query, (page) =>
      createRpcClient(platformStubOf(env), operatorStore).audit(page),
    ),
  }),
  "GET /tenants/{id}/audit": async (context) => {
    const { policy, auditOutbox: edits } = await requireTenant(context, context.params.id);
    // Edits reach the audit log shortly after their answer. Deliver them now, so that this page includes them.
    await edits.deliver().catch((error: unknown) => context.options.onError?.(error));
    const page = await readAuditPage("audit", context.query, (request) => policy.audit(request));
    return { body: { ...page, items: await redactActors(context, context.params.id, page.items) } };
  },
  "GET /tenants/{id}/usage": async (context) => {
    const handle = await requireTenant(context, context.params.id);
    const { effective, suspensions } = await requireTenantRecord(handle);
    const [{ resources, bytes }, keys] = await Promise.all([handle.content.usage(), handle.policy.countActiveKeys()]);
    const { exact: _, ...limits } = mergeDocuments([handle.tenant.base, effective]).limits ?? {};
    const counts = { resources, resourceBytes: bytes, keys, suspensions: suspensions.length };
    return { body: { ...counts, limits } };
  },
});

// Owns the routes that look back: who changed what, and how much there is.

import type { AuditEntry } from "../../tenants/authority/policy-records.ts";
import { fittingEntries } from "../../tenants/authority/audit-log.ts";
import { remote } from "../../tenants/authority/tables.ts";
import { mergeDocuments } from "../../tenants/document/tenant-document.ts";
import { operatorTables } from "../platform/operator-tables.ts";
import { NUMBER, pageFrom, positionOf, type PageAsk } from "../page.ts";
import { platformOf } from "../platform/platform-door.ts";
import { routes, type Desk } from "../route.ts";
import { findManaged, readRecord } from "../apply/tenant-access.ts";
import { AUDIT_ENDPOINTS } from "../endpoints/record-endpoints.ts";

/** The most that the object answers with at once, because entries may be large. */
const MAX_ENTRIES = 100;

type ReadAudit = (page: { before: number | null; limit: number }) => Promise<readonly AuditEntry[]>;

async function auditPage(list: string, query: PageAsk, read: ReadAudit) {
  const before = positionOf(list, query, NUMBER);
  const limit = Math.min(query.limit, MAX_ENTRIES - 1);
  const rows = await read({ before: before === undefined ? null : Number(before), limit: limit + 1 });
  return pageFrom(list, rows, Math.min(limit, fittingEntries(rows)), ({ sequence }) => String(sequence));
}

/** A tenant-admin is told by name what the tenant's own did. Who works for the platform is not the tenant's to know. */
async function namedFor({ env, caller }: Desk, id: string, entries: readonly AuditEntry[]): Promise<AuditEntry[]> {
  if (caller.tenants === null) return [...entries];
  const all = await remote(platformOf(env), operatorTables).operators();
  const own = new Set(all.filter(({ tenants }) => tenants?.includes(id)).map(({ name }) => name));
  const isOwn = (actor: string) => own.has(actor) || /^(tenant-admin|key) /.test(actor);
  return entries.map((entry) => (isOwn(entry.actor) ? entry : { ...entry, actor: "operator" }));
}

export const auditRoutes = routes(AUDIT_ENDPOINTS, {
  "GET /audit": async ({ env, query }) => ({
    body: await auditPage("platform", query, (page) => remote(platformOf(env), operatorTables).audit(page)),
  }),
  "GET /tenants/{id}/audit": async (call) => {
    const { policy, edits } = await findManaged(call, call.params.id);
    // Edits are audited a moment after they were answered, unless somebody looks.
    await edits.deliver().catch((error: unknown) => call.options.onError?.(error));
    const page = await auditPage("audit", call.query, (ask) => policy.audit(ask));
    return { body: { ...page, items: await namedFor(call, call.params.id, page.items) } };
  },
  "GET /tenants/{id}/usage": async (call) => {
    const managed = await findManaged(call, call.params.id);
    const { effective, suspensions } = await readRecord(managed);
    const [{ resources, bytes }, keys] = await Promise.all([managed.content.usage(), managed.policy.countKeys()]);
    const { exact: _, ...limits } = mergeDocuments([managed.tenant.base, effective]).limits ?? {};
    const counts = { resources, resourceBytes: bytes, keys, suspensions: suspensions.length };
    return { body: { ...counts, limits } };
  },
});

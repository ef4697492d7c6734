// Exports a tenant: its own document, then a line for each resource. Clients fetch the bodies one by one, by hash, so
// an interrupted export can continue. A backup has more.

import { reviewStore } from "../../gateway/review/review-store.ts";
import type { ContentRpc } from "../../resources/content-store.ts";
import { createRpcClient } from "../../tenants/object/store.ts";
import type { ExportLine, Infer } from "../contract.ts";
import { toResourceShape } from "./resource-routes.ts";
import { respondLines } from "../respond-lines.ts";
import { defineRoutes } from "../route.ts";
import { requireTenant, placementOf, requireTenantRecord } from "../services/tenant-handle.ts";
import { BACKUP_ENDPOINTS, EXPORT_ENDPOINTS } from "../endpoints/tenant-endpoints.ts";

const PAGE = 500;

export const exportRoutes = defineRoutes(EXPORT_ENDPOINTS, {
  "GET /tenants/{id}/export": async (context) => {
    const handle = await requireTenant(context, context.params.id);
    const { id, own, revision } = await requireTenantRecord(handle);
    const first: ExportRow = {
      kind: "tenant",
      id,
      ...placementOf(handle),
      revision,
      document: own as Extract<ExportRow, { kind: "tenant" }>["document"],
    };
    return respondLines(createPageReader(first, handle.content));
  },
});

type ExportRow = Infer<typeof ExportLine>;

/** The first page has the tenant, each further one has resources. */
function createPageReader(tenant: ExportRow, content: ContentRpc): () => Promise<readonly ExportRow[]> {
  let state: "begin" | "resources" | "end" = "begin";
  let after: string | null = null;
  return async () => {
    if (state === "end") return [];
    if (state === "begin") {
      state = "resources";
      return [tenant];
    }
    const rows = await content.list({ prefix: "", tag: null, after, limit: PAGE });
    after = rows.at(-1)?.uri ?? null;
    if (rows.length < PAGE) state = "end";
    return rows.map((row): ExportRow => ({ kind: "resource", ...toResourceShape(row) }));
  };
}

/**
 * The parts of a backup that the export lacks. Only platform operators may use them: a caller who can write key hashes
 * can admit anyone.
 */
export const backupRoutes = defineRoutes(BACKUP_ENDPOINTS, {
  "GET /tenants/{id}/backup": async (context) => {
    const handle = await requireTenant(context, context.params.id);
    const record = await requireTenantRecord(handle);
    const { upstreams = {} } = record.effective;
    const approved =
      Object.keys(upstreams).length > 0 ? await createRpcClient(handle.stub(), reviewStore).getApprovedDigests() : {};
    return { body: { ...(await handle.policy.backup()), approved } };
  },
  "PUT /tenants/{id}/backup": async (context) => {
    const handle = await requireTenant(context, context.params.id);
    await requireTenantRecord(handle);
    return { body: { rows: await handle.policy.restore(context.body as never, context.caller) } };
  },
});

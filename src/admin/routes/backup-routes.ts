// Routes for the parts of a backup that the export lacks. Only platform operators may use them: a caller who can
// write key hashes can admit anyone.

import { reviewStore } from "../../gateway/review/review-store.ts";
import { createRpcClient } from "../../tenants/object/store.ts";
import { requireTenant, requireTenantRecord } from "../services/tenant-handle.ts";
import { defineRoutes } from "../route.ts";
import { BACKUP_ENDPOINTS } from "../endpoints/tenant-endpoints.ts";

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

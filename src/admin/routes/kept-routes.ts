// Owns the routes for what a backup of a tenant has beside its export: read, and put back where it is missing. Operators of the
// platform alone: whoever can write hashes of keys lets in whom they like.

import { reviewTables } from "../../gateway/review/review-tables.ts";
import { remote } from "../../tenants/authority/tables.ts";
import { findManaged, readRecord } from "../apply/tenant-access.ts";
import { routes } from "../route.ts";
import { KEPT_ENDPOINTS } from "../endpoints/tenant-endpoints.ts";

export const keptRoutes = routes(KEPT_ENDPOINTS, {
  "GET /tenants/{id}/backup": async (call) => {
    const managed = await findManaged(call, call.params.id);
    const record = await readRecord(managed);
    const { upstreams = {} } = record.effective;
    const approved = Object.keys(upstreams).length > 0 ? await remote(managed.stub(), reviewTables).approved() : {};
    return { body: { ...(await managed.policy.kept()), approved } };
  },
  "PUT /tenants/{id}/backup": async (call) => {
    const managed = await findManaged(call, call.params.id);
    await readRecord(managed);
    return { body: { rows: await managed.policy.putBack(call.body as never, call.caller) } };
  },
});

// Owns the routes for what a backup of a tenant has beside its export: read, and put back where it is missing. Operators of the
// platform alone: whoever can write hashes of keys lets in whom they like.

import { reviewTables } from "../../gateway/review/review-tables.ts";
import { remote } from "../../tenants/authority/tables.ts";
import { findManaged, readRecord } from "../apply/tenant-access.ts";
import { KeptShape, PutBack, PutBackDone } from "../kept-schema.ts";
import { ROLES, route, type Route } from "../route.ts";
import { TenantParams } from "./tenant-routes.ts";

export const keptRoutes: readonly Route[] = [
  route({
    method: "get",
    path: "/tenants/{id}/kept",
    summary: "Read what a backup has beside the export",
    roles: ROLES.platform,
    params: TenantParams,
    replies: [{ status: 200, schema: KeptShape, about: "Keys by their hashes, sealed secrets" }],
    handle: async (call) => {
      const managed = await findManaged(call, call.params.id);
      const record = await readRecord(managed);
      const { upstreams = {} } = record.effective;
      const approved = Object.keys(upstreams).length > 0 ? await remote(managed.stub(), reviewTables).approved() : {};
      return { body: { ...(await managed.policy.kept()), approved } };
    },
  }),
  route({
    method: "put",
    path: "/tenants/{id}/kept",
    summary: "Put back what is missing of a backup",
    roles: ROLES.platform,
    params: TenantParams,
    body: PutBack,
    replies: [{ status: 200, schema: PutBackDone, about: "Put back" }],
    handle: async (call) => {
      const managed = await findManaged(call, call.params.id);
      await readRecord(managed);
      return { body: { rows: await managed.policy.putBack(call.body as never, call.caller) } };
    },
  }),
];

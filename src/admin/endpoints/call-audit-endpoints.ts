// Routes of the admin API: call audit.

import { RecordedLine } from "../contract.ts";
import { Position, ROLES, TenantParams, endpoints, linesReply } from "../endpoint.ts";
import { object } from "../schema-parts.ts";

const Sequence = Position(Number.MAX_SAFE_INTEGER);

export const CALL_AUDIT_ENDPOINTS = endpoints({
  "GET /tenants/{id}/calls": {
    summary: "The recorded calls of a tenant, oldest first, each with the hash that hangs on the one before",
    roles: ROLES.tenantRead,
    params: TenantParams,
    query: object({}, { after: Sequence, last: Sequence }),
    replies: [linesReply(RecordedLine, "What the first one hangs on, the calls, and the newest as it is known")],
  },
});

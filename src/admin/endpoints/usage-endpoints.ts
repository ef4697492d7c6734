// Routes of the admin API: usage.

import * as z from "zod";
import { Timestamp, UsageLineShape } from "../contract.ts";
import { Flag, ROLES, TenantParams, endpoints, linesReply } from "../endpoint.ts";
import { object } from "../schema-parts.ts";

export const USAGE_ENDPOINTS = endpoints({
  "GET /tenants/{id}/usage/calls": {
    summary: "What a tenant's callers called, by hour or day; what is closed is given out the same again",
    roles: ROLES.tenantRead,
    params: TenantParams,
    query: object({}, { by: z.enum(["hour", "day"]), from: Timestamp, to: Timestamp, open: Flag }),
    replies: [linesReply(UsageLineShape, "One JSON text a line, by time")],
  },
});

// Routes of the admin API: explain.

import * as z from "zod";
import { Explained } from "../contract.ts";
import { ROLES, TenantParams, endpoints } from "../endpoint.ts";
import { object, textUpTo } from "../schema-parts.ts";

export const ExplainQuery = object(
  {
    kind: z.enum(["tools", "prompts", "resources"]),
    name: textUpTo(2048, 1).meta({ description: "In code or as it is listed; a URI for resources." }),
  },
  {
    profile: textUpTo(40),
    key: textUpTo(40).meta({ description: "A key's id; nobody in particular when absent." }),
    user: textUpTo(4096, 1).meta({
      description: "A user of the app that mounts the Worker: JSON, as its `authenticate` says it.",
    }),
  },
);

export const EXPLAIN_ENDPOINTS = endpoints({
  "GET /tenants/{id}/explain": {
    summary: "Why is this visible or not, in this profile, and with this key or for this user?",
    roles: ROLES.tenantRead,
    params: TenantParams,
    query: ExplainQuery,
    replies: [{ status: 200, schema: Explained, about: "The verdict, and each rule that had a say" }],
  },
});

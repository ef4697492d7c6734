import * as z from "zod";
import { Audience, ResourceShape, Timestamp, pageShapeOf } from "../contract.ts";
import { BooleanParam, PageQuery, ROLES, TenantParams, defineEndpoints } from "../endpoint.ts";
import { Uri, list, object, textUpTo, typeError } from "../schema-parts.ts";

const UriMember = { uri: Uri } as const;
const UriQuery = object(UriMember);
export const PutQuery = object(UriMember, {
  name: textUpTo(500, 1),
  title: textUpTo(2000),
  description: textUpTo(20_000),
  tag: list(textUpTo(100, 1), { max: 100 }),
  audience: Audience.max(2),
  priority: z.number(typeError("must be a number")).min(0).max(1).meta({ "x-rule": "must be a number" }),
  lastModified: Timestamp.max(40).meta({
    description: "The last change of the content, for a copy; default: now.",
  }),
  binary: BooleanParam.meta({ description: "Whether the body is bytes, not text; default: by Content-Type." }),
});

export const RESOURCE_ENDPOINTS = defineEndpoints({
  "GET /tenants/{id}/resources": {
    summary: "List resources",
    roles: ROLES.tenantRead,
    params: TenantParams,
    query: object(PageQuery, { prefix: textUpTo(2048) }),
    replies: [{ status: 200, schema: pageShapeOf(ResourceShape), about: "Resources, by URI" }],
  },
  "GET /tenants/{id}/resources/content": {
    summary: "Get a resource's body",
    roles: ROLES.tenantRead,
    params: TenantParams,
    query: UriQuery,
    conditions: ["If-None-Match"],
    replies: [
      { status: 200, mediaType: "*/*", about: "The body, with the resource's own Content-Type, and its ETag" },
      { status: 304, about: "Not modified" },
    ],
  },
  "PUT /tenants/{id}/resources/content": {
    summary: "Write a resource: the content is the body, everything else is in the query",
    roles: ROLES.tenant,
    params: TenantParams,
    query: PutQuery,
    body: "stream",
    conditions: ["If-Match", "If-None-Match"],
    replies: [
      { status: 200, schema: ResourceShape, about: "Written, or unchanged" },
      { status: 201, schema: ResourceShape, about: "Created" },
    ],
  },
  "DELETE /tenants/{id}/resources/content": {
    summary: "Delete a resource",
    roles: ROLES.tenant,
    params: TenantParams,
    query: UriQuery,
    conditions: ["If-Match"],
    replies: [{ status: 204, about: "Deleted" }],
  },
});

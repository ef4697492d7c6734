// Routes of the admin API: document.

import { Applied, Document, DocumentPrompt, NamedPrompt, ToolName, pageShapeOf } from "../contract.ts";
import { Flag, PageQuery, ROLES, TenantParams, UnknownNames, endpoints } from "../endpoint.ts";
import { object } from "../schema-parts.ts";

const PromptParams = object({ ...TenantParams.shape, name: ToolName });
const WriteQuery = object({}, { dryRun: Flag, wait: Flag });
const DocumentQuery = object({}, { ...WriteQuery.shape, unknownNames: UnknownNames });
const APPLIED = { status: 200, schema: Applied, about: "What changed, or would" };

export const DOCUMENT_ENDPOINTS = endpoints({
  "GET /tenants/{id}/document": {
    summary: "Get a tenant's own document",
    roles: ROLES.tenantRead,
    params: TenantParams,
    conditions: ["If-None-Match"],
    replies: [
      { status: 200, schema: Document, about: "As its operators wrote it; the ETag is its revision" },
      { status: 304, about: "Not changed since" },
    ],
  },
  "PUT /tenants/{id}/document": {
    summary: "Apply a whole document; dryRun says what would change",
    roles: ROLES.tenant,
    params: TenantParams,
    query: DocumentQuery,
    body: Document,
    conditions: ["If-Match"],
    replies: [APPLIED],
  },
  "GET /tenants/{id}/prompts": {
    summary: "List the prompts of a tenant's document",
    roles: ROLES.tenantRead,
    params: TenantParams,
    query: object(PageQuery),
    replies: [{ status: 200, schema: pageShapeOf(NamedPrompt), about: "Prompts, by name" }],
  },
  "GET /tenants/{id}/prompts/{name}": {
    summary: "Get a prompt",
    roles: ROLES.tenantRead,
    params: PromptParams,
    replies: [{ status: 200, schema: NamedPrompt, about: "The prompt; the ETag is the document's" }],
  },
  "PUT /tenants/{id}/prompts/{name}": {
    summary: "Write a prompt",
    roles: ROLES.tenant,
    params: PromptParams,
    query: WriteQuery,
    body: DocumentPrompt,
    conditions: ["If-Match"],
    replies: [APPLIED],
  },
  "DELETE /tenants/{id}/prompts/{name}": {
    summary: "Delete a prompt",
    roles: ROLES.tenant,
    params: PromptParams,
    query: WriteQuery,
    conditions: ["If-Match"],
    replies: [APPLIED],
  },
});

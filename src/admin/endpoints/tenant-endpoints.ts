// Endpoints for a tenant and its document.

import * as z from "zod";
import { TENANT_LIMITS } from "../../limits/limit-definitions.ts";
import {
  ChangeResult,
  ApplyResult,
  Document,
  DocumentPrompt,
  ExportLine,
  LimitValue,
  LimitsShape,
  CreatedTenant,
  NamedPrompt,
  NewSecret,
  NewTenant,
  Secret,
  SecretName,
  TenantShape,
  TenantSummary,
  ToolName,
  pageShapeOf,
} from "../contract.ts";
import { BooleanParam, PageQuery, ROLES, TenantParams, UnknownNamesParam, defineEndpoints } from "../endpoint.ts";
import { BackupShape, BackupRestore, RestoreResult } from "../backup-schema.ts";
import { object, textUpTo } from "../schema-parts.ts";

export const TENANT_ENDPOINTS = defineEndpoints({
  "GET /tenants": {
    summary: "List tenants",
    roles: ROLES.tenantRead,
    query: object(PageQuery),
    replies: [
      { status: 200, schema: pageShapeOf(TenantSummary), about: "Tenants, by id; a tenant-admin sees its own" },
    ],
  },
  "POST /tenants": {
    summary: "Create a tenant; dryRun shows what would be created",
    roles: ROLES.platform,
    query: object({}, { dryRun: BooleanParam, unknownNames: UnknownNamesParam }),
    body: NewTenant,
    replies: [
      {
        status: 200,
        schema: ApplyResult,
        isOfDryRun: true,
        about: "For a dry run: the document that the tenant would have",
      },
      { status: 201, schema: CreatedTenant, about: "The tenant; its endpoint works at once" },
    ],
  },
  "GET /tenants/{id}": {
    summary: "Show a tenant",
    roles: ROLES.tenantRead,
    params: TenantParams,
    replies: [{ status: 200, schema: TenantShape, about: "The tenant" }],
  },
  "DELETE /tenants/{id}": {
    summary: "Delete a tenant with all its data; repeat the request if it is interrupted",
    roles: ROLES.platform,
    params: TenantParams,
    query: object({}, { created: textUpTo(40) }),
    replies: [{ status: 204, about: "Deleted" }],
  },
});

const PromptParams = object({ ...TenantParams.shape, name: ToolName });
const WriteQuery = object({}, { dryRun: BooleanParam, wait: BooleanParam });
const DocumentQuery = object({}, { ...WriteQuery.shape, unknownNames: UnknownNamesParam });
const APPLY_REPLY = { status: 200, schema: ApplyResult, about: "What changed, or would change" };

export const DOCUMENT_ENDPOINTS = defineEndpoints({
  "GET /tenants/{id}/document": {
    summary: "Get a tenant's own document",
    roles: ROLES.tenantRead,
    params: TenantParams,
    conditions: ["If-None-Match"],
    replies: [
      { status: 200, schema: Document, about: "As its operators wrote it; the ETag is its revision" },
      { status: 304, about: "Not modified" },
    ],
  },
  "PUT /tenants/{id}/document": {
    summary: "Replace a tenant's document; dryRun shows what would change",
    roles: ROLES.tenant,
    params: TenantParams,
    query: DocumentQuery,
    body: Document,
    conditions: ["If-Match"],
    replies: [APPLY_REPLY],
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
    replies: [APPLY_REPLY],
  },
  "DELETE /tenants/{id}/prompts/{name}": {
    summary: "Delete a prompt",
    roles: ROLES.tenant,
    params: PromptParams,
    query: WriteQuery,
    conditions: ["If-Match"],
    replies: [APPLY_REPLY],
  },
});

const LimitParams = object({ ...TenantParams.shape, name: z.enum([...TENANT_LIMITS]) });
const LIMIT_REPLY = { status: 200, schema: ApplyResult, about: "What changed" };

export const LIMIT_ENDPOINTS = defineEndpoints({
  "GET /tenants/{id}/limits": {
    summary: "List a tenant's limits: value, source and use",
    roles: ROLES.tenantRead,
    params: TenantParams,
    replies: [{ status: 200, schema: LimitsShape, about: "Limits, and the last time when each was exceeded" }],
  },
  "PUT /tenants/{id}/limits/{name}": {
    summary: "Set a limit of a tenant; only operators can raise limits that protect other tenants",
    roles: ROLES.tenant,
    params: LimitParams,
    body: LimitValue,
    conditions: ["If-Match"],
    replies: [LIMIT_REPLY],
  },
  "DELETE /tenants/{id}/limits/{name}": {
    summary: "Remove a limit from a tenant's own document, so that the default applies",
    roles: ROLES.tenant,
    params: LimitParams,
    conditions: ["If-Match"],
    replies: [LIMIT_REPLY],
  },
});

export const SecretParams = object({ ...TenantParams.shape, name: SecretName });

export const SECRET_ENDPOINTS = defineEndpoints({
  "GET /tenants/{id}/secrets": {
    summary: "List secrets, without their values",
    roles: ROLES.tenantRead,
    params: TenantParams,
    query: object(PageQuery),
    replies: [{ status: 200, schema: pageShapeOf(Secret), about: "Secrets, by name" }],
  },
  "PUT /tenants/{id}/secrets/{name}": {
    summary: "Set a secret. After the answer, no tool gets a replaced value",
    roles: ROLES.tenant,
    params: SecretParams,
    query: object({}, { wait: BooleanParam }),
    body: NewSecret,
    replies: [
      { status: 200, schema: ChangeResult, about: "Set; a new value is in effect everywhere from effectiveAt on" },
    ],
  },
  "DELETE /tenants/{id}/secrets/{name}": {
    summary: "Delete a secret. After the answer, no tool gets it",
    roles: ROLES.tenant,
    params: SecretParams,
    replies: [{ status: 200, schema: ChangeResult, about: "In effect; not changed if it was already gone" }],
  },
});

export const BACKUP_ENDPOINTS = defineEndpoints({
  "GET /tenants/{id}/backup": {
    summary: "Get the part of a backup that the export does not have",
    roles: ROLES.platform,
    params: TenantParams,
    replies: [{ status: 200, schema: BackupShape, about: "Hashes of keys, suspensions and sealed secrets" }],
  },
  "PUT /tenants/{id}/backup": {
    summary: "Restore missing keys, suspensions and secrets of a backup",
    roles: ROLES.platform,
    params: TenantParams,
    body: BackupRestore,
    replies: [{ status: 200, schema: RestoreResult, about: "Restored" }],
  },
});

export const EXPORT_ENDPOINTS = defineEndpoints({
  "GET /tenants/{id}/export": {
    summary: "Export a tenant's document and the list of its resources, without keys and secrets",
    roles: ROLES.tenantRead,
    params: TenantParams,
    replies: [{ status: 200, schema: ExportLine, mediaType: "application/x-ndjson", about: "One JSON text per line" }],
  },
});

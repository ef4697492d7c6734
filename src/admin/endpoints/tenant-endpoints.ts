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
    summary: "Make a tenant; dryRun says what would be made",
    roles: ROLES.platform,
    query: object({}, { dryRun: BooleanParam, unknownNames: UnknownNamesParam }),
    body: NewTenant,
    replies: [
      {
        status: 200,
        schema: ApplyResult,
        isOfDryRun: true,
        about: "Of a dry run: it could be made, and what would be in its document",
      },
      { status: 201, schema: CreatedTenant, about: "The tenant, which serves from now on" },
    ],
  },
  "GET /tenants/{id}": {
    summary: "Show a tenant",
    roles: ROLES.tenantRead,
    params: TenantParams,
    replies: [{ status: 200, schema: TenantShape, about: "The tenant" }],
  },
  "DELETE /tenants/{id}": {
    summary: "Delete a tenant and everything it has; a try that was cut off can be repeated",
    roles: ROLES.platform,
    params: TenantParams,
    query: object({}, { created: textUpTo(40) }),
    replies: [{ status: 204, about: "Nothing of it is left" }],
  },
});

const PromptParams = object({ ...TenantParams.shape, name: ToolName });
const WriteQuery = object({}, { dryRun: BooleanParam, wait: BooleanParam });
const DocumentQuery = object({}, { ...WriteQuery.shape, unknownNames: UnknownNamesParam });
const APPLY_REPLY = { status: 200, schema: ApplyResult, about: "What changed, or would" };

export const DOCUMENT_ENDPOINTS = defineEndpoints({
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
    summary: "Each limit of a tenant: its value, who set it, and what is used of it",
    roles: ROLES.tenantRead,
    params: TenantParams,
    replies: [{ status: 200, schema: LimitsShape, about: "Limits, and when each was exceeded last" }],
  },
  "PUT /tenants/{id}/limits/{name}": {
    summary: "Set a limit of a tenant; only operators raise what protects others",
    roles: ROLES.tenant,
    params: LimitParams,
    body: LimitValue,
    replies: [LIMIT_REPLY],
  },
  "DELETE /tenants/{id}/limits/{name}": {
    summary: "Take a limit out of a tenant's own document, so that what lies under it holds",
    roles: ROLES.tenant,
    params: LimitParams,
    replies: [LIMIT_REPLY],
  },
});

export const SecretParams = object({ ...TenantParams.shape, name: SecretName });

export const SECRET_ENDPOINTS = defineEndpoints({
  "GET /tenants/{id}/secrets": {
    summary: "List secrets, without their values, which nothing shows",
    roles: ROLES.tenantRead,
    params: TenantParams,
    query: object(PageQuery),
    replies: [{ status: 200, schema: pageShapeOf(Secret), about: "Secrets, by name" }],
  },
  "PUT /tenants/{id}/secrets/{name}": {
    summary: "Set a secret: when a replacement is answered, no tool anywhere gets what was there before",
    roles: ROLES.tenant,
    params: SecretParams,
    query: object({}, { wait: BooleanParam }),
    body: NewSecret,
    replies: [{ status: 200, schema: ChangeResult, about: "Set; a new one is seen everywhere from effectiveAt on" }],
  },
  "DELETE /tenants/{id}/secrets/{name}": {
    summary: "Delete a secret: when this answers, no tool anywhere gets it",
    roles: ROLES.tenant,
    params: SecretParams,
    replies: [{ status: 200, schema: ChangeResult, about: "In force; unchanged where there was none any more" }],
  },
});

export const BACKUP_ENDPOINTS = defineEndpoints({
  "GET /tenants/{id}/backup": {
    summary: "Read what a backup has beside the export",
    roles: ROLES.platform,
    params: TenantParams,
    replies: [{ status: 200, schema: BackupShape, about: "Keys by their hashes, sealed secrets" }],
  },
  "PUT /tenants/{id}/backup": {
    summary: "Put back what is missing of a backup",
    roles: ROLES.platform,
    params: TenantParams,
    body: BackupRestore,
    replies: [{ status: 200, schema: RestoreResult, about: "Put back" }],
  },
});

export const EXPORT_ENDPOINTS = defineEndpoints({
  "GET /tenants/{id}/export": {
    summary: "Export a tenant: its document, and what there is of resources; no keys, and no secrets",
    roles: ROLES.tenantRead,
    params: TenantParams,
    replies: [{ status: 200, schema: ExportLine, mediaType: "application/x-ndjson", about: "One JSON text a line" }],
  },
});

// Loads a tenant's catalog for an operator's request, from the same sources as a client's request.

import type { RequestScope } from "../../handlers/request-scope.ts";
import { createCodeSource } from "../../catalog/code-source.ts";
import { searchTools } from "../../catalog/search-tools.ts";
import { mergedDocument, createTenantCatalog, type TenantCatalog } from "../../catalog/tenant-catalog.ts";
import { loadFeatureSources } from "../../deployment/feature-sources.ts";
import type { Source } from "../../protocol/source.ts";
import type { Policy, TenantRecord } from "../../tenants/object/policy-records.ts";
import type { CatalogNames } from "../../tenants/document/deprecation.ts";
import type { AdminContext } from "../route.ts";
import type { TenantHandle } from "./tenant-handle.ts";

export function policyOf({ effective, suspensions, deprecatedNames: deprecated }: TenantRecord): Policy {
  return { document: effective, suspensions, deprecatedNames: deprecated };
}

export async function loadTenantCatalog(
  context: AdminContext,
  handle: TenantHandle,
  record: TenantRecord,
): Promise<TenantCatalog> {
  const policy = policyOf(record);
  const additional = await loadAdditionalSources(context, handle, record);
  return createTenantCatalog(context.options.catalog, handle.tenant, { policy, version: record.revision }, additional);
}

/** The names that a document may use, before any renaming. `record`: null for a tenant that is being created. */
export async function getCatalogNames(
  context: AdminContext,
  handle: TenantHandle,
  record: TenantRecord | null,
): Promise<CatalogNames> {
  const additional = record ? await loadAdditionalSources(context, handle, record) : [];
  const sources = [createCodeSource(context.options.catalog, handle.tenant, new Set()), ...additional];
  return {
    tools: sources.flatMap(({ tools }) => tools.map(({ name }) => name)),
    prompts: sources.flatMap(({ prompts }) => prompts.map(({ name }) => name)),
    listed: namesByListedName(sources),
    search: searchTools.map(({ name }) => name),
  };
}

/** Original names by listed name: an operator may have copied the name from a list. */
export function namesByListedName(sources: readonly Source<RequestScope>[]): ReadonlyMap<string, string> {
  const all = sources.flatMap(({ tools, prompts }) => [...tools, ...prompts]);
  return new Map(all.flatMap(({ name, listedName }) => (listedName === undefined ? [] : [[listedName, name]])));
}

async function loadAdditionalSources(
  { env, options: { features = [], catalog } }: AdminContext,
  { id, tenant, storageKey, stub }: TenantHandle,
  record: TenantRecord,
): Promise<readonly Source<RequestScope>[]> {
  const { sources } = await loadFeatureSources(features, mergedDocument(tenant, policyOf(record)), {
    tenant: id,
    storageKey,
    server: catalog.server,
    sectionHashes: new Map(record.sections),
    bodies: env.BODIES,
    stub,
  });
  return sources;
}

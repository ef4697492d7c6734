// The sources of a tenant, in the order of listing and lookup. If two sources have the same name, the first one serves
// it.

import type { RequestScope } from "../handlers/request-scope.ts";
import type { NewResource } from "../handlers/resource-store.ts";
import type { Source } from "../protocol/source.ts";
import type { Policy } from "../tenants/object/policy-records.ts";
import type { Tenant } from "../tenants/document/tenant-definition.ts";
import { mergeDocuments, type TenantDocument } from "../tenants/document/tenant-document.ts";
import type { Catalog } from "../handlers/catalog.ts";
import { createCodeSource } from "./code-source.ts";
import { createStoredSource } from "./stored-source.ts";

/** Everything that a tenant offers under one version of its policy; views are computed from it. */
export interface TenantCatalog {
  readonly catalog: Catalog;
  readonly tenant: Tenant<NewResource>;
  readonly policy: Policy;
  /** The revision of the policy. */
  readonly version: number;
  readonly document: TenantDocument;
  readonly sources: readonly Source<RequestScope>[];
}

/** The tenant's effective document over its declaration in code. */
export function mergedDocument(tenant: Tenant<NewResource>, policy: Policy): TenantDocument {
  return mergeDocuments([tenant.base, policy.document]);
}

/** `additional`: sources that features add, after the tenant's own. */
export function createTenantCatalog(
  catalog: Catalog,
  tenant: Tenant<NewResource>,
  { policy, version }: { readonly policy: Policy; readonly version: number },
  additional: readonly Source<RequestScope>[] = [],
): TenantCatalog {
  const document = mergedDocument(tenant, policy);
  const promptNames = new Set(Object.keys(document.prompts ?? {}));
  const sources = [createCodeSource(catalog, tenant, promptNames), createStoredSource(document), ...additional];
  return { catalog, tenant, policy, version, document, sources: sources.map(emptyIfDuplicate) };
}

/**
 * A source with the id of an earlier one offers nothing, and every list reports it: cursors identify sources by their
 * ids.
 */
function emptyIfDuplicate(
  source: Source<RequestScope>,
  at: number,
  all: readonly Source<RequestScope>[],
): Source<RequestScope> {
  const { id } = source;
  if (all.findIndex((other) => other.id === id) === at) return source;
  const state = { kind: "degraded", why: "another source has the same id" } as const;
  return { id, state, tools: [], prompts: [], resources: [], templates: [] };
}

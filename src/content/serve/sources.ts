// Owns which sources a tenant has, in the order in which they are listed and asked: of two things with one name, that
// of the first source is served.

import type { CallHost } from "../../calls/call-host.ts";
import type { NewResource } from "../../calls/resource-store.ts";
import type { Source } from "../../protocol/source.ts";
import type { Policy } from "../../tenants/authority/policy-records.ts";
import type { Tenant } from "../../tenants/document/tenant-definition.ts";
import { mergeDocuments, type TenantDocument } from "../../tenants/document/tenant-document.ts";
import type { Catalog } from "../define/catalog.ts";
import { codeSource } from "./code-source.ts";
import { storedSource } from "./stored-source.ts";

/** Everything that a tenant offers under one version of its policy; views are computed from it. */
export interface Offer {
  readonly catalog: Catalog;
  readonly tenant: Tenant<NewResource>;
  readonly policy: Policy;
  /** The revision of the policy. */
  readonly version: number;
  readonly document: TenantDocument;
  readonly sources: readonly Source<CallHost>[];
}

/** The tenant's effective document over its declaration in code. */
export function documentOf(tenant: Tenant<NewResource>, policy: Policy): TenantDocument {
  return mergeDocuments([tenant.base, policy.document]);
}

/** `further`: sources that features add, after the tenant's own. */
export function offerOf(
  catalog: Catalog,
  tenant: Tenant<NewResource>,
  { policy, version }: { readonly policy: Policy; readonly version: number },
  further: readonly Source<CallHost>[] = [],
): Offer {
  const document = documentOf(tenant, policy);
  const own = new Set(Object.keys(document.prompts ?? {}));
  const sources = [codeSource(catalog, tenant, own), storedSource(document), ...further];
  return { catalog, tenant, policy, version, document, sources: sources.map(unlessRepeated) };
}

/** A source offers nothing where one before it has its id, and every list says so: cursors tell sources by their ids. */
function unlessRepeated(source: Source<CallHost>, at: number, all: readonly Source<CallHost>[]): Source<CallHost> {
  const { id } = source;
  if (all.findIndex((other) => other.id === id) === at) return source;
  const state = { kind: "degraded", why: "another source has the same id" } as const;
  return { id, state, tools: [], prompts: [], resources: [], templates: [] };
}

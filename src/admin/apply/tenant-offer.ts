// Owns what a tenant has to offer as an operator's request finds it: the same sources that a client's request would.

import type { CallHost } from "../../calls/call-host.ts";
import { codeSource } from "../../content/serve/code-source.ts";
import { searchTools } from "../../content/serve/search-tools.ts";
import { documentOf, offerOf, type Offer } from "../../content/serve/sources.ts";
import { featureSources } from "../../deployment/feature-sources.ts";
import type { Source } from "../../protocol/source.ts";
import type { Policy, TenantRecord } from "../../tenants/authority/policy-records.ts";
import type { CatalogNames } from "../../tenants/document/retirement.ts";
import type { Desk } from "../route.ts";
import type { Managed } from "./tenant-access.ts";

export function policyOf({ effective, suspensions, retired }: TenantRecord): Policy {
  return { document: effective, suspensions, retired };
}

export async function tenantOffer(desk: Desk, managed: Managed, record: TenantRecord): Promise<Offer> {
  const policy = policyOf(record);
  const further = await furtherSources(desk, managed, record);
  return offerOf(desk.options.catalog, managed.tenant, { policy, version: record.revision }, further);
}

/** The names that a document may use, before any renaming. `record`: null for a tenant that is only being made. */
export async function catalogNames(desk: Desk, managed: Managed, record: TenantRecord | null): Promise<CatalogNames> {
  const further = record ? await furtherSources(desk, managed, record) : [];
  const sources = [codeSource(desk.options.catalog, managed.tenant, new Set()), ...further];
  return {
    tools: sources.flatMap(({ tools }) => tools.map(({ name }) => name)),
    prompts: sources.flatMap(({ prompts }) => prompts.map(({ name }) => name)),
    listed: changedNames(sources),
    search: searchTools.map(({ name }) => name),
  };
}

/** The names of what is listed under another one, by that one: what an operator copied from a list. */
export function changedNames(sources: readonly Source<CallHost>[]): ReadonlyMap<string, string> {
  const all = sources.flatMap(({ tools, prompts }) => [...tools, ...prompts]);
  return new Map(all.flatMap(({ name, listedName }) => (listedName === undefined ? [] : [[listedName, name]])));
}

async function furtherSources(
  { env, options: { features = [], catalog } }: Desk,
  { id, tenant, kept, stub }: Managed,
  record: TenantRecord,
): Promise<readonly Source<CallHost>[]> {
  const { sources } = await featureSources(features, documentOf(tenant, policyOf(record)), {
    tenant: id,
    kept,
    server: catalog.server,
    leased: new Map(record.sections),
    bodies: env.BODIES,
    stub,
  });
  return sources;
}

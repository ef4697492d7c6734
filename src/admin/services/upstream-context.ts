// How an operator's request reaches a tenant's upstreams. Needs the feature gateway().

import { mergedDocument } from "../../catalog/tenant-catalog.ts";
import type { UntypedEnv, UpstreamContext, UpstreamOperations } from "../../deployment/deployment.ts";
import { policyStore } from "../../tenants/object/policy-store.ts";
import { createRpcClient } from "../../tenants/object/store.ts";
import { DEFAULT_PLACEMENT } from "../../tenants/directory/placement.ts";
import { unsealSecret } from "../../tenants/cache/tenant-secrets.ts";
import { missingFeature } from "../problem.ts";
import type { AdminContext } from "../route.ts";
import { requireTenantRecord, type TenantHandle } from "./tenant-handle.ts";
import { policyOf } from "./load-tenant-catalog.ts";

export function requireUpstreamOperations({ options: { features = [] } }: AdminContext): UpstreamOperations {
  const operations = features.find(({ upstreams }) => upstreams)?.upstreams;
  if (operations) return operations;
  throw missingFeature("Upstreams need the feature gateway()");
}

/** Reads the tenant's current record from the tenant object. A second call may return another revision. */
export async function getUpstreamContext(context: AdminContext, handle: TenantHandle) {
  const { env, options, caller } = context;
  const { id, entry, created, storageKey, stub, tenant } = handle;
  const record = await requireTenantRecord(handle);
  const upstreamContext: UpstreamContext = {
    tenant: id,
    placement: entry ?? DEFAULT_PLACEMENT,
    created,
    revision: record.revision,
    document: mergedDocument(tenant, policyOf(record)),
    sectionHashes: new Map(record.sections),
    server: options.catalog.server,
    env: env as unknown as UntypedEnv,
    stub,
    secret: (name) =>
      unsealSecret({ env, tenant: id, name }, () => createRpcClient(stub(), policyStore).sealedSecret(name)),
    onError: (error) => options.onError?.(error),
    storageKey,
    bodies: env.BODIES,
    actor: caller,
  };
  return { upstreamContext, record };
}

// Owns how an operator's request reaches a tenant's upstreams: what the feature that has them needs of the tenant, as it is
// now. Refuses a Worker without that feature.

import { documentOf } from "../../content/serve/sources.ts";
import type { Bindings, UpstreamGround, UpstreamOperations } from "../../deployment/deployment.ts";
import { policyTables } from "../../tenants/authority/policy-tables.ts";
import { remote } from "../../tenants/authority/tables.ts";
import { ANYWHERE } from "../../tenants/directory/placement.ts";
import { openSecret } from "../../tenants/isolate/tenant-secrets.ts";
import { lackingFeature } from "../problem.ts";
import type { Desk } from "../route.ts";
import { readRecord, type Managed } from "./tenant-access.ts";
import { policyOf } from "./tenant-offer.ts";

export function upstreamOperations({ options: { features = [] } }: Desk): UpstreamOperations {
  const operations = features.find(({ upstreams }) => upstreams)?.upstreams;
  if (operations) return operations;
  throw lackingFeature("Upstreams need the feature gateway()");
}

/** The tenant as its authority has it at this moment: asked again, it may be another version. */
export async function upstreamGround(desk: Desk, managed: Managed) {
  const { env, options, caller } = desk;
  const { id, entry, created, kept, stub, tenant } = managed;
  const record = await readRecord(managed);
  const ground: UpstreamGround = {
    tenant: id,
    placement: entry ?? ANYWHERE,
    created,
    revision: record.revision,
    document: documentOf(tenant, policyOf(record)),
    leased: new Map(record.sections),
    server: options.catalog.server,
    env: env as unknown as Bindings,
    stub,
    secret: (name) => openSecret({ env, tenant: id, name }, () => remote(stub(), policyTables).sealedSecret(name)),
    onError: (error) => options.onError?.(error),
    kept,
    bodies: env.BODIES,
    actor: caller,
  };
  return { ground, record };
}

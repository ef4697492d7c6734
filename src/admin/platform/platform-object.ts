// The Durable Object of the platform: operators, base documents and rollouts. MCP requests never call it. An operator's
// request fails with `busy` while it is unavailable.

import { exports } from "cloudflare:workers";
import { STORED_RUNS, type StoredRunsBinding } from "../../sessions/session-object.ts";
import { withTimeoutOrBusy } from "../../tenants/cache/with-timeout.ts";
import { namespaceOf } from "../../tenants/directory/namespaces.ts";
import { createTenantStub, ANY_UID, type TenantStub } from "../../tenants/object/tenant-uid.ts";
import { createStoreObject } from "../../tenants/object/store-object.ts";
import { platformErrorLogStore } from "../../tenants/object/error-log-store.ts";
import { baseStore } from "./base-store.ts";
import type { RolloutHost } from "./base-rollouts.ts";
import { operatorStore } from "./operator-store.ts";
import { rolloutStore } from "./rollout-store.ts";

/** Durable Object: operators, base documents and rollouts. Composed of stores, like the tenant object. */
export class PlatformObject extends createStoreObject<unknown, RolloutHost>(
  [operatorStore, baseStore, rolloutStore, platformErrorLogStore],
  { hostOf: (base) => ({ ...base, startStep }) },
) {}

/** Merging needs the author's catalog, so the step runs in the Worker, not in a Durable Object. */
async function startStep(rollout: number): Promise<void> {
  const entrypoints = exports as unknown as Readonly<Record<string, StoredRunsBinding | undefined>>;
  await entrypoints[STORED_RUNS]?.background({ rollout });
}

/** All operators in all locations call this one object, so the timeout is long. */
const PLATFORM_TIMEOUT_MS = 20_000;

export function platformStubOf(env: object): TenantStub {
  const object = () => namespaceOf(env, "PlatformObject").getByName("platform");
  const stub = createTenantStub(object, ANY_UID);
  return { call: (...rpcCall) => withTimeoutOrBusy(stub.call(...rpcCall), PLATFORM_TIMEOUT_MS) };
}

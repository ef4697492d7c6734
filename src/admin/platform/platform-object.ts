// The class of the platform's object: operators, base documents and rollouts. No request of a client asks it.

import { exports } from "cloudflare:workers";
import { STORED_RUNS, type StoredRunsBinding } from "../../sessions/session-object.ts";
import { createStoreObject } from "../../tenants/object/store-object.ts";
import { platformErrorLogStore } from "../../tenants/object/error-log-store.ts";
import { baseStore } from "./base-store.ts";
import type { RolloutHost } from "./base-rollouts.ts";
import { operatorStore } from "./operator-store.ts";
import { rolloutStore } from "./rollout-store.ts";

/** It has tables as a tenant's object has. */
export class PlatformObject extends createStoreObject<unknown, RolloutHost>(
  [operatorStore, baseStore, rolloutStore, platformErrorLogStore],
  { hostOf: (base) => ({ ...base, startStep }) },
) {}

/** Merging takes the author's catalog, so it is the Worker's, not an object's. */
async function startStep(rollout: number): Promise<void> {
  const entrypoints = exports as unknown as Readonly<Record<string, StoredRunsBinding | undefined>>;
  await entrypoints[STORED_RUNS]?.background({ rollout });
}

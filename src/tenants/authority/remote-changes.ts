// The methods of change-tables.ts, called from a Worker. On its own, because code in Node imports it and must not load a Durable Object.

import type { ChangeMethods } from "./change-tables.ts";
import { CHANGES } from "./changes.ts";
import type { TenantStub } from "./incarnation.ts";
import { remote, type Remote, type Tables } from "./tables.ts";

export function remoteChanges(stub: TenantStub): Remote<ChangeMethods> {
  return remote(stub, { name: CHANGES } as Tables<ChangeMethods>);
}

// The methods of change-tables.ts. On their own, because code in Node imports them and must not load a Durable Object.

import type { Changes, ChangedSection } from "./changes.ts";
import type { TenantStub } from "./tenant-uid.ts";
import { createRpcClient, type RpcInterface, type RpcClient } from "./store.ts";

export interface ChangeMethods {
  /**
   * Registers that somebody listens at this hub. Gives what changed since the version that they know; null: they begin now.
   */
  listen(since: number | null, shard?: number): Changes;
  /** How many hubs are told: whoever looks for a session's stream finds it at one of them. */
  hubs(): number;
  announce(sections: readonly ChangedSection[], updated: readonly string[]): void;
  /** Milliseconds after which to ask again; 0: no stream stands any more that was to end. */
  pendingCloseMs(): Promise<number>;
  /** Settles when everything that changed before was sent to the hubs, or could not be. */
  flush(): Promise<void>;
}

export const changeRpc: RpcInterface<ChangeMethods> = {
  name: "changes",
  methods: { listen: {}, hubs: {}, announce: {}, pendingCloseMs: { idempotent: true }, flush: {} },
};

export function createChangeClient(stub: TenantStub): RpcClient<ChangeMethods> {
  return createRpcClient(stub, changeRpc);
}

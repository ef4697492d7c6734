// The RPC interface of change-store.ts. A separate file, because code in Node imports it and must not load a Durable
// Object.

import type { Changes, ChangedSection } from "./changes.ts";
import type { TenantStub } from "./tenant-uid.ts";
import { createRpcClient, type RpcInterface, type RpcClient } from "./store.ts";

export interface ChangeMethods {
  /** Registers a listener at this hub. Returns the changes after version `since`; null: the listener starts now. */
  listen(since: number | null, shard?: number): Changes;
  /** The number of hubs that receive events. A session's stream is at one of them. */
  hubs(): number;
  announce(sections: readonly ChangedSection[], updated: readonly string[]): void;
  /** Milliseconds after which to ask again. 0: all streams that had to end have ended. */
  pendingCloseMs(): Promise<number>;
  /** Settles when all earlier changes were sent to the hubs, or a send failed. */
  flush(): Promise<void>;
}

export const changeRpc: RpcInterface<ChangeMethods> = {
  name: "changes",
  methods: { listen: {}, hubs: {}, announce: {}, pendingCloseMs: { idempotent: true }, flush: {} },
};

export function createChangeClient(stub: TenantStub): RpcClient<ChangeMethods> {
  return createRpcClient(stub, changeRpc);
}

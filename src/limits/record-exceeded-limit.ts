// Records in the tenant object which of its limits were exceeded, for `explain` and the audit log: each limit once an
// hour, without delaying the response. Only a Worker with an admin API does this.

import { createRpcClient } from "../tenants/object/store.ts";
import type { TenantStub } from "../tenants/object/tenant-uid.ts";
import { limitStore, type ExceededLimitRecord } from "./limit-store.ts";
import { LruMap } from "./lru-map.ts";

/** The request of a caller who exceeded a limit. */
export interface ExceededLimitContext {
  readonly tenant: string;
  readonly principal: { readonly id: string };
  readonly cachedPolicy: { readonly created: string };
  stub(): TenantStub;
  waitUntil(work: Promise<unknown>): void;
  onError(error: unknown): void;
}

/** In which hour each limit of each tenant was recorded. The tenant object is called once per limit and hour. */
const recordedHours = new LruMap<number>(10_000);
const HOUR_MS = 3_600_000;

export function recordExceededLimit(
  context: ExceededLimitContext,
  { name, most }: Omit<ExceededLimitRecord, "caller">,
): void {
  const hour = Math.floor(Date.now() / HOUR_MS);
  const key = `${context.tenant} ${context.cachedPolicy.created} ${name}`;
  if (recordedHours.get(key) === hour) return;
  recordedHours.set(key, hour);
  const record = { name, most, caller: context.principal.id };
  context.waitUntil(
    createRpcClient(context.stub(), limitStore)
      .recordExceeded(record)
      .catch((error: unknown) => {
        context.onError(error);
      }),
  );
}

// Owns having a tenant's authority note which of its limits were met, for `explain` and the audit log: of each once an hour, and
// beside the request. Only a Worker in which operators read that has it.

import { createRpcClient } from "../tenants/object/store.ts";
import type { TenantStub } from "../tenants/object/tenant-uid.ts";
import { limitStore, type ExceededLimitRecord } from "./limit-store.ts";
import { LruMap } from "./lru-map.ts";

/** Of a request of somebody who met a limit. */
export interface ExceededLimitContext {
  readonly tenant: string;
  readonly principal: { readonly id: string };
  readonly snapshot: { readonly created: string };
  stub(): TenantStub;
  waitUntil(work: Promise<unknown>): void;
  onError(error: unknown): void;
}

/** Which limits of which tenants were noted, and in which hour: the authority is told of each once. */
const recordedHours = new LruMap<number>(10_000);
const HOUR_MS = 3_600_000;

export function recordExceededLimit(
  context: ExceededLimitContext,
  { name, most }: Omit<ExceededLimitRecord, "who">,
): void {
  const hour = Math.floor(Date.now() / HOUR_MS);
  const key = `${context.tenant} ${context.snapshot.created} ${name}`;
  if (recordedHours.get(key) === hour) return;
  recordedHours.set(key, hour);
  const record = { name, most, who: context.principal.id };
  context.waitUntil(
    createRpcClient(context.stub(), limitStore)
      .recordExceeded(record)
      .catch((error: unknown) => {
        context.onError(error);
      }),
  );
}

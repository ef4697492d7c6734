// Owns having a tenant's authority note which of its limits were met, for `explain` and the audit log: of each once an hour, and
// beside the request. Only a Worker in which operators read that has it.

import { remote } from "../tenants/authority/tables.ts";
import type { TenantStub } from "../tenants/authority/incarnation.ts";
import { limitTables, type MetRecord } from "./limit-tables.ts";
import { RecentMap } from "./recent-map.ts";

/** Of a request of somebody who met a limit. */
export interface MetGround {
  readonly tenant: string;
  readonly principal: { readonly id: string };
  readonly snapshot: { readonly created: string };
  stub(): TenantStub;
  waitUntil(work: Promise<unknown>): void;
  onError(error: unknown): void;
}

/** Which limits of which tenants were noted, and in which hour: the authority is told of each once. */
const noted = new RecentMap<number>(10_000);
const HOUR_MS = 3_600_000;

export function noteMet(ground: MetGround, { name, most }: Omit<MetRecord, "who">): void {
  const hour = Math.floor(Date.now() / HOUR_MS);
  const key = `${ground.tenant} ${ground.snapshot.created} ${name}`;
  if (noted.get(key) === hour) return;
  noted.set(key, hour);
  const record = { name, most, who: ground.principal.id };
  ground.waitUntil(
    remote(ground.stub(), limitTables)
      .noteMet(record)
      .catch((error: unknown) => {
        ground.onError(error);
      }),
  );
}

// Owns tools that the platform's operators blocked in every tenant, as one tenant's object keeps them: apart from the
// tenant's own suspensions, so that lifting the one leaves the other.

import { noteOutage, staleMs } from "./outage-times.ts";
import type { Actor, TakingEffect } from "./policy-records.ts";
import type { TenantHost } from "./tenant-host.ts";
import type { Suspension } from "../document/visibility.ts";

/** Since the block, new or not, is in force everywhere. */
export interface BlockWrite extends TakingEffect {
  readonly changed: boolean;
  /** How long an isolate that cannot reach the tenant's object may serve what was before; null: none does, or nothing was withdrawn. */
  readonly staleMs: number | null;
}

export interface BlockMethods {
  blockTool(name: string, note: string, actor: Actor): BlockWrite;
  unblockTool(name: string, actor: Actor): BlockWrite;
}

interface BlockRow {
  [column: string]: SqlStorageValue;
  name: string;
  note: string;
  since: string;
}

/** Blocks in the form in which leases carry them: as suspensions of tools. */
export function blocksOf(sql: SqlStorage): Suspension[] {
  return sql
    .exec<BlockRow>("SELECT * FROM blocks ORDER BY name")
    .toArray()
    .map((row) => ({ kind: "tool", ...row }));
}

export function createBlockMethods(host: TenantHost): BlockMethods {
  const { sql } = host;
  const find = (name: string) => blocksOf(sql).find((block) => block.name === name);
  const done = (changed: boolean, isBrake: boolean): BlockWrite => {
    // A tenant that is being made right now has no policy yet, so there is nothing to announce.
    if (changed && host.revision() > 0) host.bump();
    return {
      changed,
      ...host.inForce(),
      staleMs: isBrake ? staleMs(host) : null,
    };
  };
  return {
    blockTool: (name, note, actor) =>
      host.transaction(() => {
        const before = find(name);
        if (before?.note === note || host.closure.isClosed()) return done(false, true);
        noteOutage(host);
        const since = new Date(host.now()).toISOString();
        sql.exec("INSERT OR REPLACE INTO blocks (name, note, since) VALUES (?, ?, ?)", name, note, since);
        host.record(actor, "block", `tool ${name}`, { before: before ?? null, after: { note } });
        return done(true, true);
      }),
    unblockTool: (name, actor) =>
      host.transaction(() => {
        const before = find(name);
        if (!before) return done(false, false);
        sql.exec("DELETE FROM blocks WHERE name = ?", name);
        host.record(actor, "unblock", `tool ${name}`, { before, after: null });
        return done(true, false);
      }),
  };
}

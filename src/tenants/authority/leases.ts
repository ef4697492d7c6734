// Owns what a lease on a tenant's policy carries. Refuses to send what the isolate that asks has already.

import { idsOf } from "../../auth/seal.ts";
import { authorityState } from "./authority-tables.ts";
import { blockedTools } from "./block-tables.ts";
import type { TenantDocument } from "../document/tenant-document.ts";
import { endedSince } from "./ended-tables.ts";
import type { EndedSession, KeyGrant, LeaseAsk, LeaseGranted, RetiredName } from "./policy-records.ts";
import { sectionsOf } from "./section-rows.ts";
import type { Incarnation } from "./incarnation.ts";
import type { TenantHost } from "./tenant-host.ts";
import type { Suspension } from "../document/visibility.ts";

/** undefined: the isolate has all of it. */
export function newsFor(
  host: TenantHost,
  ask: LeaseAsk,
  { revision, created }: { readonly revision: number; readonly created: Incarnation },
  document: TenantDocument,
): LeaseGranted | undefined {
  const { sql } = host;
  const isSame = ask.version?.created === created;
  const isCurrent = isSame && ask.version?.number === revision;
  const { ring, seeded } = authorityState(host);
  const ended = endedFor(sql, ask, isSame);
  // Only code has first content, so nobody else waits for it to be stored.
  const isWhole = ask.ring === idsOf(ring) && (seeded || !ask.inCode) && ask.keyHash === null;
  if (isCurrent && isWhole && !ended) return undefined;
  return {
    state: "granted",
    version: revision,
    created,
    policy: isCurrent
      ? null
      : { document, suspensions: [...suspensionsOf(sql), ...blockedTools(sql)], retired: retiredNamesIn(sql) },
    sections: isCurrent ? null : sectionsOf(sql),
    ring,
    seeded,
    key: credentialIn(host, ask.keyHash, document),
    ended,
  };
}

/** A cursor of an earlier tenant of the same name means nothing here: that one counted its own ended sessions. */
function endedFor(sql: SqlStorage, { endedAfter }: LeaseAsk, isSame: boolean): EndedSession | null {
  return endedAfter === undefined ? null : endedSince(sql, isSame ? endedAfter : null);
}

export function suspensionsOf(sql: SqlStorage): Suspension[] {
  return sql
    .exec<{ kind: string; name: string; note: string; since: string }>(
      "SELECT kind, name, note, since FROM suspensions",
    )
    .toArray() as Suspension[];
}

export function retiredNamesIn(sql: SqlStorage): RetiredName[] {
  const rows = sql
    .exec<{ kind: string; profile: string; name: string; target: string; successor: string; until: number }>(
      "SELECT kind, profile, name, target, successor, until FROM retired",
    )
    .toArray();
  return rows.map((entry) => ({ ...entry, profile: entry.profile === "" ? null : entry.profile })) as RetiredName[];
}

function credentialIn(host: TenantHost, hash: string | null, document: TenantDocument): KeyGrant | null {
  if (hash === null) return null;
  return useKey(host, hash) ?? host.grantOf?.(hash, document) ?? null;
}

/** Notes that the key is used. null: no such key, or it has expired or retired. */
export function useKey(host: TenantHost, hash: string): KeyGrant | null {
  const { sql } = host;
  const [found] = sql
    .exec<{
      id: string;
      name: string;
      scopes: string | null;
      profile: string | null;
      expires: number | null;
      retires: number | null;
      last_used: string | null;
    }>("SELECT id, name, scopes, profile, expires, retires, last_used FROM api_keys WHERE hash = ?", hash)
    .toArray();
  if (!found) return null;
  const { id, name, scopes, profile, expires, retires } = found;
  const ends = retires === null ? expires : Math.min(retires, expires ?? retires);
  if (ends !== null && ends <= host.now()) return null;
  host.keyUses.note(id, found.last_used);
  return { id, name, scopes: scopes === null ? null : (JSON.parse(scopes) as string[]), profile, expires: ends };
}

// Builds a lease with only the parts that the requesting isolate does not have yet.

import { keyIdsOf } from "../../auth/seal.ts";
import { authorityState } from "./authority-store.ts";
import { blockedTools } from "./block-methods.ts";
import type { TenantDocument } from "../document/tenant-document.ts";
import { endedSince } from "./ended-session-store.ts";
import type { EndedSessionsDelta, KeyGrant, LeaseRequest, GrantedLease, DeprecatedName } from "./policy-records.ts";
import { sectionsIn } from "./section-hash-store.ts";
import type { TenantUid } from "./tenant-uid.ts";
import type { TenantHost } from "./tenant-host.ts";
import type { Suspension } from "../document/visibility.ts";

/** undefined: the isolate has everything. */
export function createLeaseDelta(
  host: TenantHost,
  request: LeaseRequest,
  { revision, created }: { readonly revision: number; readonly created: TenantUid },
  document: TenantDocument,
): GrantedLease | undefined {
  const { sql } = host;
  const isSame = request.version?.created === created;
  const isCurrent = isSame && request.version?.number === revision;
  const { ring, seeded } = authorityState(host);
  const ended = endedSessionsFor(sql, request, isSame);
  // Only a tenant in code has seed content, so other tenants do not wait for it to be stored.
  const isWhole = request.ring === keyIdsOf(ring) && (seeded || !request.inCode) && request.keyHash === null;
  if (isCurrent && isWhole && !ended) return undefined;
  return {
    state: "granted",
    version: revision,
    created,
    policy: isCurrent
      ? null
      : {
          document,
          suspensions: [...suspensionsIn(sql), ...blockedTools(sql)],
          deprecatedNames: deprecatedNamesIn(sql),
        },
    sections: isCurrent ? null : sectionsIn(sql),
    ring,
    seeded,
    key: grantForKey(host, request.keyHash, document),
    endedSessions: ended,
  };
}

/** A cursor from an earlier tenant of the same name is meaningless here: that tenant counted its own ended sessions. */
function endedSessionsFor(sql: SqlStorage, { endedAfter }: LeaseRequest, isSame: boolean): EndedSessionsDelta | null {
  return endedAfter === undefined ? null : endedSince(sql, isSame ? endedAfter : null);
}

export function suspensionsIn(sql: SqlStorage): Suspension[] {
  return sql
    .exec<{ kind: string; name: string; note: string; since: string }>(
      "SELECT kind, name, note, since FROM suspensions",
    )
    .toArray() as Suspension[];
}

export function deprecatedNamesIn(sql: SqlStorage): DeprecatedName[] {
  const rows = sql
    .exec<{ kind: string; profile: string; name: string; target: string; successor: string; until: number }>(
      "SELECT kind, profile, name, target, successor, until FROM deprecated_names",
    )
    .toArray();
  return rows.map((entry) => ({ ...entry, profile: entry.profile === "" ? null : entry.profile })) as DeprecatedName[];
}

function grantForKey(host: TenantHost, hash: string | null, document: TenantDocument): KeyGrant | null {
  if (hash === null) return null;
  return useKey(host, hash) ?? host.grantOf?.(hash, document) ?? null;
}

/** Records the use of the key. null: there is no such key, or it has expired or retired. */
export function useKey(host: TenantHost, hash: string): KeyGrant | null {
  const { sql } = host;
  const [row] = sql
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
  if (!row) return null;
  const { id, name, scopes, profile, expires, retires } = row;
  const ends = retires === null ? expires : Math.min(retires, expires ?? retires);
  if (ends !== null && ends <= host.now()) return null;
  host.keyUses.record(id, row.last_used);
  return { id, name, scopes: scopes === null ? null : (JSON.parse(scopes) as string[]), profile, expires: ends };
}

// Owns what a lease on a tenant's policy carries. Refuses to send what the isolate that asks has already.

import { authorityState } from "./authority-tables.ts";
import { blocksOf } from "./block-tables.ts";
import type { TenantDocument } from "../document/tenant-document.ts";
import { endedSince } from "./ended-tables.ts";
import type { KeyGrant, LeaseAnswer, LeaseAsk, Policy, RetiredName } from "./policy-records.ts";
import { sectionsOf } from "./section-rows.ts";
import type { TableHost } from "./tables.ts";
import type { TenantHost } from "./tenant-host.ts";
import type { Suspension } from "../document/visibility.ts";

/** `found`: the tenant's row, undefined where there is no such tenant. */
export function grant(
  host: TenantHost,
  ask: LeaseAsk,
  found: { readonly created: string; readonly revision: number; readonly effective: string } | undefined,
): LeaseAnswer {
  if (!found) return { state: "absent" };
  const { sql } = host;
  const document = JSON.parse(found.effective) as TenantDocument;
  host.leases.note(document.maxStalenessMs ?? ask.maxStalenessMs);
  const { revision, created } = found;
  const isSame = ask.version?.created === created;
  const isCurrent = isSame && ask.version?.number === revision;
  return {
    state: "granted",
    version: revision,
    created,
    policy: isCurrent ? null : { document, ...withdrawn(sql) },
    sections: isCurrent ? null : sectionsOf(sql),
    ...authorityState(host),
    key: ask.keyHash === null ? null : credentialIn(host, ask.keyHash, document),
    // A cursor of an earlier tenant of the same name means nothing here: that one counted its own ended sessions.
    ended: ask.endedAfter === undefined ? null : endedSince(sql, isSame ? ask.endedAfter : null),
  };
}

export function suspensionsOf(sql: SqlStorage): Suspension[] {
  return sql
    .exec<{ kind: string; name: string; note: string; since: string }>(
      "SELECT kind, name, note, since FROM suspensions",
    )
    .toArray() as Suspension[];
}

/** Everything that was taken away: suspensions, blocks and retired names. */
export function withdrawn(sql: SqlStorage): Pick<Policy, "suspensions" | "retired"> {
  const rows = sql
    .exec<{ kind: string; profile: string; name: string; target: string; successor: string; until: number }>(
      // Release 0.1.0 stored names without a successor, too, which had been taken away.
      "SELECT * FROM retired WHERE successor IS NOT NULL",
    )
    .toArray();
  const retired = rows.map((entry) => ({ ...entry, profile: entry.profile === "" ? null : entry.profile }));
  return { suspensions: [...suspensionsOf(sql), ...blocksOf(sql)], retired: retired as RetiredName[] };
}

function credentialIn(host: TenantHost, hash: string, document: TenantDocument): KeyGrant | null {
  return useKey(host, hash) ?? host.grantOf?.(hash, document) ?? null;
}

/** Notes the key's last use once for each lease, not for each call. null: no such key, or it has expired or retired. */
export function useKey(host: TableHost, hash: string): KeyGrant | null {
  const { sql } = host;
  const [found] = sql
    .exec<{
      id: string;
      name: string;
      scopes: string | null;
      profile: string | null;
      expires: number | null;
      retires: number | null;
    }>("SELECT id, name, scopes, profile, expires, retires FROM api_keys WHERE hash = ?", hash)
    .toArray();
  if (!found) return null;
  const { id, name, scopes, profile, expires, retires } = found;
  const ends = retires === null ? expires : Math.min(retires, expires ?? retires);
  if (ends !== null && ends <= host.now()) return null;
  sql.exec("UPDATE api_keys SET last_used = ? WHERE id = ?", new Date(host.now()).toISOString(), id);
  return { id, name, scopes: scopes === null ? null : (JSON.parse(scopes) as string[]), profile, expires: ends };
}

// Coordinates reads of the authorization servers that a tenant's document names: the tenant object decides who reads
// one, and when. The reads themselves happen in isolates.

import { isUnexpired } from "../../tenants/cache/is-unexpired.ts";
import type { TenantHost } from "../../tenants/object/tenant-host.ts";
import { LastClaims } from "../../tenants/object/last-claims.ts";
import { sectionHash } from "../../tenants/object/section-hash-store.ts";
import type { Store } from "../../tenants/object/store.ts";

/** Time for a claimant to read the server, before another may claim it. */
const CLAIM_MS = 15_000;
/** Least time between reads, however many tokens have an unknown key. */
const COOLDOWN_MS = 10_000;
const RETRY_MS = 5_000;
/** Time for which the keys of an unreachable server stay valid: it could not withdraw any. */
const MAX_STALE_MS = 86_400_000;

export interface IssuerClaimRequest {
  readonly issuer: string;
  /** The name of its section. */
  readonly section: string;
  /** All issuers of the document: the state of others is deleted. */
  readonly issuers: readonly string[];
  /** A read since then is recent enough, in milliseconds since the epoch. */
  readonly since: number;
  /** Identifies the attempt: a claimant that lost the answer and asks again still has its claim. */
  readonly claimant?: string;
}

export interface IssuerClaim {
  /** Whether the caller must read it now. */
  readonly claimed: boolean;
  /** Whether another caller reads it. */
  readonly reading: boolean;
  /** Whether the last attempt succeeded. If not, the server may have keys that are unknown here. */
  readonly wasRead: boolean;
  /** The current hash of its section; null: it has none. */
  readonly hash: string | null;
}

export interface IssuerMethods {
  claim(request: IssuerClaimRequest): IssuerClaim;
  /** `wasRead` false: the attempt failed. Returns whether the earlier result is too old to use. */
  settle(issuer: string, wasRead: boolean): boolean;
  /** Whether this is the policy's current revision: a newer document may name issuers that an older one does not. */
  isCurrent(revision: number): boolean;
}

interface IssuerRow {
  [column: string]: SqlStorageValue;
  read_at: number;
  tried_at: number;
  claimed_until: number;
}

export const issuerStore: Store<IssuerMethods, TenantHost> = {
  name: "issuers",
  methods: { claim: { idempotent: true }, settle: { idempotent: true }, isCurrent: { idempotent: true } },
  migrations: [
    `CREATE TABLE issuers (issuer TEXT PRIMARY KEY, read_at INTEGER NOT NULL, tried_at INTEGER NOT NULL,
       claimed_until INTEGER NOT NULL) WITHOUT ROWID`,
  ],
  open: (host) => {
    const claims = new LastClaims();
    return {
      methods: {
        claim: (request) => host.transaction(() => claim(host, claims, request)),
        settle: (issuer, wasRead) => host.transaction(() => settle(host, issuer, wasRead)),
        isCurrent: (revision) => host.revision() === revision,
      },
    };
  },
};

function findRow({ sql }: TenantHost, issuer: string): IssuerRow | undefined {
  const query = "SELECT read_at, tried_at, claimed_until FROM issuers WHERE issuer = ?";
  return sql.exec<IssuerRow>(query, issuer).toArray()[0];
}

function readStateOf({ read_at, tried_at, claimed_until }: IssuerRow, since: number, now: number) {
  const wasRead = read_at >= tried_at;
  const cooldown = wasRead ? COOLDOWN_MS : RETRY_MS;
  // After a clock ran ahead, no time counts as recent.
  const isRead = since < read_at && isUnexpired(read_at + MAX_STALE_MS, MAX_STALE_MS, now);
  const isRecent = isUnexpired(tried_at + cooldown, cooldown, now) || isRead;
  return { wasRead, isRecent, isReading: isUnexpired(claimed_until, CLAIM_MS, now) };
}

function claim(
  host: TenantHost,
  claims: LastClaims,
  { issuer, section, issuers, since, claimant }: IssuerClaimRequest,
): IssuerClaim {
  const { sql } = host;
  const hash = sectionHash(sql, section);
  const row = findRow(host, issuer);
  const now = host.now();
  const { isReading = false, isRecent = false, wasRead = false } = row ? readStateOf(row, since, now) : {};
  if (isReading && claims.isClaimedBy(issuer, claimant)) return { claimed: true, reading: false, wasRead, hash };
  if (isReading || isRecent) return { claimed: false, reading: isReading, wasRead, hash };
  sql.exec("DELETE FROM issuers WHERE issuer NOT IN (SELECT value FROM json_each(?))", JSON.stringify(issuers));
  sql.exec(
    `INSERT INTO issuers (issuer, read_at, tried_at, claimed_until) VALUES (?1, 0, 0, ?2)
       ON CONFLICT (issuer) DO UPDATE SET claimed_until = ?2`,
    issuer,
    now + CLAIM_MS,
  );
  claims.set(issuer, claimant);
  return { claimed: true, reading: false, wasRead, hash };
}

function settle(host: TenantHost, issuer: string, wasRead: boolean): boolean {
  const { sql } = host;
  const now = host.now();
  sql.exec("UPDATE issuers SET tried_at = ?, claimed_until = 0 WHERE issuer = ?", now, issuer);
  if (wasRead) sql.exec("UPDATE issuers SET read_at = ? WHERE issuer = ?", now, issuer);
  const row = findRow(host, issuer);
  return row === undefined || row.read_at + MAX_STALE_MS < now;
}

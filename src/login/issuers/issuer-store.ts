// Owns what only a tenant's authority may decide about the authorization servers that its document names: who reads one
// now, and when it may be read again. Refuses to speak to any: isolates do.

import { isUnexpired } from "../../tenants/cache/is-unexpired.ts";
import type { TenantHost } from "../../tenants/object/tenant-host.ts";
import { LastClaims } from "../../tenants/object/last-claims.ts";
import { sectionHash } from "../../tenants/object/section-hash-store.ts";
import type { Store } from "../../tenants/object/store.ts";

/** How long whoever was told to read one may take, before somebody else is told. */
const CLAIM_MS = 15_000;
/** One that was read is not read again sooner, whoever brings a token that no key of it has signed. */
const COOLDOWN_MS = 10_000;
const RETRY_MS = 5_000;
/** For so long the keys of one that cannot be read are good: it could not withdraw any. */
const MAX_STALE_MS = 86_400_000;

export interface IssuerClaimRequest {
  readonly issuer: string;
  /** The name of its section. */
  readonly section: string;
  /** All that the document names: what is known of others is forgotten. */
  readonly issuers: readonly string[];
  /** It is not wanted anew where it was read since; milliseconds since the epoch. */
  readonly since: number;
  /** Who asks: the same who has claimed it, and did not hear so, has it. */
  readonly claimant?: string;
}

export interface IssuerClaim {
  /** Whether who asks shall read it now. */
  readonly claimed: boolean;
  /** Whether somebody else does. */
  readonly reading: boolean;
  /** Whether it could be read when that was tried last: else it may have keys that nobody here has seen. */
  readonly wasRead: boolean;
  /** Of its section as it is now; null: it has none. */
  readonly hash: string | null;
}

export interface IssuerMethods {
  claim(ask: IssuerClaimRequest): IssuerClaim;
  /** `wasRead` false: it could not be. Gives whether what was read of it before is good for nothing any more. */
  settle(issuer: string, wasRead: boolean): boolean;
  /** Whether this is the revision of the policy: what an older document does not name may be named now. */
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
        claim: (ask) => host.transaction(() => claim(host, claims, ask)),
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
  // Of a clock that was ahead nothing is recent.
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

// Owns the keys of the operators' authorization server as an isolate has them. Refuses to have it asked for every token:
// nobody who brings tokens that no key has signed makes it be read more often than every ten seconds.

import type { JSONWebKeySet } from "jose";
import { issuerKeys, type IssuerKeys } from "../../auth/jwt.ts";
import { isUnexpired } from "../../tenants/cache/is-unexpired.ts";
import { readIssuer } from "../issuers/read-issuer.ts";

/** How often it is read while nobody misses a key. */
const REFRESH_INTERVAL_MS = 600_000;
const COOLDOWN_MS = 10_000;
/** Whoever has no keys waits so long for who reads them. */
const MAX_WAIT_MS = 3_000;
const POLL_MS = 50;
/** For so long the keys of a server that cannot be read are good: it could not withdraw any. */
const MAX_STALE_MS = 86_400_000;
/** Its connections are counted as those of a tenant that nobody can make. */
const OPERATORS_TENANT = "operators of the platform";

interface CachedKeys {
  readonly issuer: string;
  keys: IssuerKeys | undefined;
  /** Milliseconds since the epoch, as those below. */
  readAt: number;
  triedAt: number;
  isReading: boolean;
}

export interface OperatorKeyContext {
  readonly env: unknown;
  readonly onError: (error: unknown) => void;
}

type FetchKeys = (issuer: string, ground: Pick<OperatorKeyContext, "env">) => Promise<JSONWebKeySet>;

const fetchKeys: FetchKeys = (issuer, { env }) => readIssuer(issuer, false, { tenant: OPERATORS_TENANT, env });

/** `newer`: those that are held have not signed a token. undefined: there are none. */
export type OperatorKeys = (
  issuer: string,
  ground: OperatorKeyContext,
  newer: boolean,
) => Promise<IssuerKeys | undefined>;

/** An isolate has one, with the keys of one server: `read` and `clock` are a test's to say. */
export function createOperatorKeys(
  fetchIssuerKeys: FetchKeys = fetchKeys,
  clock: () => number = Date.now,
): OperatorKeys {
  let cached: CachedKeys | undefined;
  return async (issuer, context, newer) => {
    if (cached?.issuer !== issuer) cached = { issuer, keys: undefined, readAt: 0, triedAt: 0, isReading: false };
    const entry = cached;
    const startedAt = clock();
    const isDue = newer || !isUnexpired(entry.readAt + REFRESH_INTERVAL_MS, REFRESH_INTERVAL_MS, startedAt);
    if (isDue && !isUnexpired(entry.triedAt + COOLDOWN_MS, COOLDOWN_MS, startedAt))
      await refreshKeys(entry, context, { fetchIssuerKeys, clock });
    // Another request of the isolate reads them: its promise is its own, so what it brings is looked for.
    const isDone = () => !entry.isReading || (entry.keys !== undefined && !newer);
    for (let waited = 0; !isDone() && waited < MAX_WAIT_MS; waited += POLL_MS) await scheduler.wait(POLL_MS);
    // Newer ones than can be read now may have signed it.
    if (newer && entry.readAt < entry.triedAt) return undefined;
    return isUnexpired(entry.readAt + MAX_STALE_MS, MAX_STALE_MS, clock()) ? entry.keys : undefined;
  };
}

interface KeySource {
  readonly fetchIssuerKeys: FetchKeys;
  readonly clock: () => number;
}

async function refreshKeys(
  cached: CachedKeys,
  { env, onError }: OperatorKeyContext,
  { fetchIssuerKeys, clock }: KeySource,
): Promise<void> {
  cached.triedAt = clock();
  cached.isReading = true;
  try {
    cached.keys = issuerKeys(await fetchIssuerKeys(cached.issuer, { env }));
    cached.readAt = cached.triedAt;
  } catch (error) {
    onError(error);
  } finally {
    cached.isReading = false;
  }
}

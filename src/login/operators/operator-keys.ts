// The keys of the operators' authorization server, cached per isolate. Tokens signed by unknown keys cause at most one
// read per ten seconds.

import type { JSONWebKeySet } from "jose";
import { issuerKeys, type IssuerKeys } from "../../auth/jwt.ts";
import { isUnexpired } from "../../tenants/cache/is-unexpired.ts";
import { readIssuer } from "../issuers/read-issuer.ts";

/** Interval of reads while every token's key is known. */
const REFRESH_INTERVAL_MS = 600_000;
const COOLDOWN_MS = 10_000;
/** Wait of a request without keys for another request that reads them. */
const MAX_WAIT_MS = 3_000;
const POLL_MS = 50;
/** Time for which the keys of an unreachable server stay valid: it could not withdraw any. */
const MAX_STALE_MS = 86_400_000;
/** Counts the connections under a name that no tenant can have. */
const OPERATORS_TENANT = "operators of the platform";

interface CachedKeys {
  readonly issuer: string;
  keys: IssuerKeys | undefined;
  /** Milliseconds since the epoch, like `triedAt`. */
  readAt: number;
  triedAt: number;
  isReading: boolean;
}

export interface OperatorKeyContext {
  readonly env: unknown;
  readonly onError: (error: unknown) => void;
}

type FetchKeys = (issuer: string, context: Pick<OperatorKeyContext, "env">) => Promise<JSONWebKeySet>;

const fetchKeys: FetchKeys = (issuer, { env }) => readIssuer(issuer, false, { tenant: OPERATORS_TENANT, env });

/** `newer`: the cached keys did not sign the token. Returns undefined if there are none. */
export type OperatorKeys = (
  issuer: string,
  context: OperatorKeyContext,
  newer: boolean,
) => Promise<IssuerKeys | undefined>;

/** One per isolate, with the keys of one server. Tests pass their own `fetchIssuerKeys` and `clock`. */
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
    // Another request of the isolate reads the keys. Its promise cannot be awaited here, so poll for the result.
    const isDone = () => !entry.isReading || (entry.keys !== undefined && !newer);
    for (let waited = 0; !isDone() && waited < MAX_WAIT_MS; waited += POLL_MS) await scheduler.wait(POLL_MS);
    // Keys that cannot be read now may have signed the token.
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

// Resolves host names by DNS over HTTPS and caches the answers. A Worker cannot pin the address it connects to, so a
// name may resolve differently at connect time. This check refuses early, and the platform checks again.

import { USER_AGENT } from "./hops.ts";

/** Resolves to no addresses if the name has none, or if the resolver did not answer. Never rejects. */
export type Resolve = (name: string) => Promise<readonly string[]>;

const PUBLIC_RESOLVER = "https://cloudflare-dns.com/dns-query";
const TIMEOUT_MS = 5000;
const MAX_CACHED = 256;
/** Bounds for the TTL of an answer. An answer without addresses is cached for the minimum. */
const MIN_TTL_MS = 10_000;
const MAX_TTL_MS = 300_000;

interface CachedAnswer {
  readonly addresses: readonly string[];
  /** When the resolver was queried, milliseconds since the epoch. */
  readonly resolvedAt: number;
  /** Milliseconds for which the resolver is not queried again. */
  readonly ttlMs: number;
}

/** By resolver and name, for the whole isolate. Bound: MAX_CACHED; the least recently used entry goes first. */
const cache = new Map<string, CachedAnswer>();

/** `resolver` is `OUTBOUND_RESOLVER`: a URL that answers `application/dns-json`, or `off`. */
export function createResolver(resolver = PUBLIC_RESOLVER): Resolve | undefined {
  if (resolver === "off") return undefined;
  return async (name) => {
    const key = `${resolver} ${name}`;
    const now = Date.now();
    let cached = cache.get(key);
    if (!isFresh(cached, now, cached?.ttlMs)) {
      cached = await queryAddresses(resolver, name, now).catch(() => staleAnswer(cache.get(key), now));
    }
    cache.delete(key);
    cache.set(key, cached);
    for (const [oldest] of cache) {
      if (cache.size <= MAX_CACHED) break;
      cache.delete(oldest);
    }
    return cached.addresses;
  };
}

/** If the clock was set back, the age of an answer is unknown and the answer counts as stale. */
function isFresh(cached: CachedAnswer | undefined, now: number, milliseconds = MAX_TTL_MS): cached is CachedAnswer {
  return cached !== undefined && now >= cached.resolvedAt && now - cached.resolvedAt < milliseconds;
}

/** A failed query says nothing about the name, so a cached answer is served up to MAX_TTL_MS. */
function staleAnswer(cached: CachedAnswer | undefined, now: number): CachedAnswer {
  return isFresh(cached, now)
    ? { ...cached, ttlMs: Math.min(now - cached.resolvedAt + MIN_TTL_MS, MAX_TTL_MS) }
    : { addresses: [], resolvedAt: now, ttlMs: 0 };
}

async function queryAddresses(resolver: string, name: string, resolvedAt: number): Promise<CachedAnswer> {
  const answers = (await Promise.all(["A", "AAAA"].map((type) => queryRecords(resolver, name, type)))).flat();
  const minTtlMs = Math.min(...answers.map(({ TTL }) => TTL * 1000));
  const ttlMs = answers.length === 0 ? MIN_TTL_MS : Math.min(Math.max(minTtlMs, MIN_TTL_MS), MAX_TTL_MS);
  return { addresses: answers.map(({ data }) => data), resolvedAt, ttlMs };
}

interface Answer {
  readonly type: number;
  readonly TTL: number;
  readonly data: string;
}

/** https://developers.cloudflare.com/1.1.1.1/encryption/dns-over-https/make-api-requests/dns-json/ */
async function queryRecords(resolver: string, name: string, type: string): Promise<readonly Answer[]> {
  const response = await fetch(`${resolver}?name=${encodeURIComponent(name)}&type=${type}`, {
    headers: { accept: "application/dns-json", "user-agent": USER_AGENT },
    redirect: "manual",
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  if (!response.ok) throw new Error(`the resolver answered ${response.status}`);
  const { Answer: answers = [] } = await response.json<{ readonly Answer?: readonly Answer[] }>();
  // CNAME records are answers too, with their addresses in the same list.
  return answers.filter((answer) => answer.type === 1 || answer.type === 28);
}

// Owns asking which addresses a name stands for, by DNS over HTTPS, and how long an answer is kept. A Worker cannot hold
// an address until it connects: what this refuses is refused early, and the platform refuses again.

import { USER_AGENT } from "./hops.ts";

/** No address: the name stands for none, or nobody could be asked. Never rejects. */
export type Resolve = (name: string) => Promise<readonly string[]>;

const PUBLIC_RESOLVER = "https://cloudflare-dns.com/dns-query";
const TIMEOUT_MS = 5000;
const MAX_CACHED = 256;
/** An answer is kept as long as it says, within these; one of nothing for the least. */
const MIN_TTL_MS = 10_000;
const MAX_TTL_MS = 300_000;

interface CachedAnswer {
  readonly addresses: readonly string[];
  /** When the resolver was asked, milliseconds since the epoch. */
  readonly resolvedAt: number;
  /** So many milliseconds it is not asked again. */
  readonly ttlMs: number;
}

/** By resolver and name, for the whole isolate; the least recently asked goes first. Bound: MOST_KEPT, the oldest goes. */
const cache = new Map<string, CachedAnswer>();

/** `resolver`: `OUTBOUND_RESOLVER`, a URL that answers `application/dns-json`, or `off`. */
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

/** A clock that was set back says nothing of how old it is. */
function isFresh(cached: CachedAnswer | undefined, now: number, milliseconds = MAX_TTL_MS): cached is CachedAnswer {
  return cached !== undefined && now >= cached.resolvedAt && now - cached.resolvedAt < milliseconds;
}

/** That nobody could be asked says nothing about the name: what was known serves as long as any answer is kept. */
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
  // Aliases are answers too; their addresses stand beside them.
  return answers.filter((answer) => answer.type === 1 || answer.type === 28);
}

// Owns asking which addresses a name stands for, by DNS over HTTPS, and how long an answer is kept. A Worker cannot hold
// an address until it connects: what this refuses is refused early, and the platform refuses again.

import { USER_AGENT } from "./hops.ts";

/** No address: the name stands for none, or nobody could be asked. Never rejects. */
export type Resolve = (name: string) => Promise<readonly string[]>;

const PUBLIC_RESOLVER = "https://cloudflare-dns.com/dns-query";
const WITHIN_MS = 5000;
const MOST_KEPT = 256;
/** An answer is kept as long as it says, within these; one of nothing for the least. */
const LEAST_MS = 10_000;
const MOST_MS = 300_000;

interface Kept {
  readonly addresses: readonly string[];
  /** When the resolver was asked, milliseconds since the epoch. */
  readonly at: number;
  /** So many milliseconds it is not asked again. */
  readonly lasts: number;
}

/** By resolver and name, for the whole isolate; the least recently asked goes first. Bound: MOST_KEPT, the oldest goes. */
const kept = new Map<string, Kept>();

/** `resolver`: `OUTBOUND_RESOLVER`, a URL that answers `application/dns-json`, or `off`. */
export function resolverAt(resolver = PUBLIC_RESOLVER): Resolve | undefined {
  if (resolver === "off") return undefined;
  return async (name) => {
    const key = `${resolver} ${name}`;
    const now = Date.now();
    let known = kept.get(key);
    if (!isWithin(known, now, known?.lasts)) {
      known = await ask(resolver, name, now).catch(() => whileAway(kept.get(key), now));
    }
    kept.delete(key);
    kept.set(key, known);
    for (const [oldest] of kept) {
      if (kept.size <= MOST_KEPT) break;
      kept.delete(oldest);
    }
    return known.addresses;
  };
}

/** A clock that was set back says nothing of how old it is. */
function isWithin(known: Kept | undefined, now: number, milliseconds = MOST_MS): known is Kept {
  return known !== undefined && now >= known.at && now - known.at < milliseconds;
}

/** That nobody could be asked says nothing about the name: what was known serves as long as any answer is kept. */
function whileAway(known: Kept | undefined, now: number): Kept {
  return isWithin(known, now)
    ? { ...known, lasts: Math.min(now - known.at + LEAST_MS, MOST_MS) }
    : { addresses: [], at: now, lasts: 0 };
}

async function ask(resolver: string, name: string, at: number): Promise<Kept> {
  const answers = (await Promise.all(["A", "AAAA"].map((type) => answersOf(resolver, name, type)))).flat();
  const least = Math.min(...answers.map(({ TTL }) => TTL * 1000));
  const lasts = answers.length === 0 ? LEAST_MS : Math.min(Math.max(least, LEAST_MS), MOST_MS);
  return { addresses: answers.map(({ data }) => data), at, lasts };
}

interface Answer {
  readonly type: number;
  readonly TTL: number;
  readonly data: string;
}

/** https://developers.cloudflare.com/1.1.1.1/encryption/dns-over-https/make-api-requests/dns-json/ */
async function answersOf(resolver: string, name: string, type: string): Promise<readonly Answer[]> {
  const response = await fetch(`${resolver}?name=${encodeURIComponent(name)}&type=${type}`, {
    headers: { accept: "application/dns-json", "user-agent": USER_AGENT },
    redirect: "manual",
    signal: AbortSignal.timeout(WITHIN_MS),
  });
  if (!response.ok) throw new Error(`the resolver answered ${response.status}`);
  const { Answer: answers = [] } = await response.json<{ readonly Answer?: readonly Answer[] }>();
  // Aliases are answers too; their addresses stand beside them.
  return answers.filter((answer) => answer.type === 1 || answer.type === 28);
}

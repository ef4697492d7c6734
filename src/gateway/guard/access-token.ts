// Owns the access tokens that upstreams want of a client with credentials of its own: asked for once for all who wait,
// kept by this isolate until shortly before they end. Refuses to say more of a refusal than its code.
// https://datatracker.ietf.org/doc/html/rfc6749#section-4.4

import { canonicalJson } from "../../auth/seal.ts";
import {
  parseOAuthErrorCode,
  parseTokenBody,
  parseTokenResponse,
  createTokenRequest,
} from "../../outbound/token-endpoint.ts";
import { withTimeout } from "../../tenants/cache/with-timeout.ts";
import { isUnexpired } from "../../tenants/cache/is-unexpired.ts";

/** What a token is asked for with. */
export interface ClientGrant {
  readonly tenant: string;
  readonly tokenUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly method: "client_secret_basic" | "client_secret_post";
  readonly scope?: string;
  /** https://datatracker.ietf.org/doc/html/rfc8707 */
  readonly resource?: string;
}

export interface TokenOptions {
  /** By the door through which every request leaves. */
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
  readonly now: () => number;
  /** Keeps the asking alive when whoever began it goes away: others wait for it. */
  readonly waitUntil: (work: Promise<unknown>) => void;
}

/** Its message can be shown. */
export class AccessTokenError extends Error {
  override readonly name = "TokenRefusal";
}

/** Within this the token endpoint answers. */
export const TOKEN_TIMEOUT_MS = 10_000;
/** Who waits for what another request has asked asks for itself after this: the platform may have dropped that one. */
const WAIT_TIMEOUT_MS = 5_000;
/** A token that is used when it ends is refused on the way, so another one is there before. */
const SKEW_MS = 30_000;
const LATENCY_MS = 5_000;
const DEFAULT_LIFETIME_MS = 300_000;
const MAX_LIFETIME_MS = 86_400_000;
/** Whoever was refused is not asked again by each call. */
const REFUSAL_TTL_MS = 5_000;
const MAX_CACHED = 500;

/** `until`: when another one is asked for. `ends`: until then it serves where there is no other. */
interface Token {
  readonly kind: "token";
  readonly token: string;
  readonly until: number;
  readonly expiresAt: number;
}

type CacheEntry =
  | Token
  | { readonly kind: "refused"; readonly why: string; readonly until: number }
  | { readonly kind: "asking"; readonly work: Promise<string>; readonly until: number };

const MAX_AGE_MS = { token: MAX_LIFETIME_MS, refused: REFUSAL_TTL_MS, asking: WAIT_TIMEOUT_MS } as const;

/**
 * By grant, its secret included; the longest there goes first.
 * Bound: MOST_KEPT; an upstream's answer with a token has a bound of its own.
 */
const tokenCache = new Map<string, CacheEntry>();

/** Throws a `TokenRefusal` where there is none. */
export async function getAccessToken(grant: ClientGrant, options: TokenOptions): Promise<string> {
  const key = canonicalJson(grant);
  const cached = tokenCache.get(key);
  if (cached && isUnexpired(cached.until, MAX_AGE_MS[cached.kind], options.now())) {
    if (cached.kind === "token") return cached.token;
    if (cached.kind === "refused") throw new AccessTokenError(cached.why);
    // The platform may drop who is asking, without a word, or reject at once whoever waits for a request that has ended.
    return withTimeout(cached.work, cached.until - options.now()).catch((error: unknown) => {
      if (error instanceof AccessTokenError) throw error;
      if (tokenCache.get(key) === cached) tokenCache.delete(key);
      return getAccessToken(grant, options);
    });
  }
  const work = requestToken(grant, options, cached?.kind === "token" ? cached : undefined);
  setCached(key, { kind: "asking", work, until: options.now() + WAIT_TIMEOUT_MS });
  const settled = work.then(
    () => {},
    () => {},
  );
  options.waitUntil(settled);
  return work;
}

/** The upstream takes it no more. Another one that came meanwhile stays. */
export function forgetAccessToken(grant: ClientGrant, token: string): void {
  const key = canonicalJson(grant);
  const cached = tokenCache.get(key);
  if (cached?.kind === "token" && cached.token === token) tokenCache.delete(key);
}

function setCached(key: string, value: CacheEntry): void {
  tokenCache.delete(key);
  tokenCache.set(key, value);
  for (const oldest of tokenCache.keys()) {
    if (tokenCache.size <= MAX_CACHED) break;
    tokenCache.delete(oldest);
  }
}

/** `before`: the one that another is asked for in place of. */
async function requestToken(grant: ClientGrant, options: TokenOptions, previous: Token | undefined): Promise<string> {
  const key = canonicalJson(grant);
  try {
    const { token, lifeMs } = await fetchToken(grant, options);
    const now = options.now();
    const until = now + Math.min(Math.max(lifeMs - SKEW_MS, lifeMs / 2), MAX_LIFETIME_MS);
    setCached(key, { kind: "token", token, until, expiresAt: now + Math.min(lifeMs - LATENCY_MS, MAX_LIFETIME_MS) });
    return token;
  } catch (error) {
    const now = options.now();
    const until = now + REFUSAL_TTL_MS;
    const cached = tokenCache.get(key);
    // Somebody who asked later may have one already.
    const usable = cached?.kind === "token" ? cached : previous;
    if (usable && now < usable.expiresAt) {
      if (usable !== cached) setCached(key, { ...usable, until: Math.min(until, usable.expiresAt) });
      return usable.token;
    }
    const why = `it has no access token: ${error instanceof AccessTokenError ? error.message : "the token endpoint cannot be reached"}`;
    setCached(key, { kind: "refused", why, until });
    throw new AccessTokenError(why);
  }
}

async function fetchToken(
  { tokenUrl, clientId, clientSecret, method, scope, resource }: ClientGrant,
  { fetch }: TokenOptions,
): Promise<{ readonly token: string; readonly lifeMs: number }> {
  const client = { id: clientId, secret: clientSecret, isBasic: method === "client_secret_basic" };
  const form = {
    grant_type: "client_credentials",
    ...(scope !== undefined && { scope }),
    ...(resource !== undefined && { resource }),
  };
  const signal = AbortSignal.timeout(TOKEN_TIMEOUT_MS);
  const response = await fetch(tokenUrl, { ...createTokenRequest(client, form), signal });
  const { status, headers } = response;
  const body = parseTokenBody(await response.text(), headers.get("content-type"));
  const tokenResponse = status === 200 && body ? parseTokenResponse(body) : undefined;
  if (!tokenResponse) throw new AccessTokenError(describeRefusal(status, parseOAuthErrorCode(body?.["error"])));
  // How long it serves may be unsaid, or said so that nobody understands it: then it serves once.
  const { access, seconds = DEFAULT_LIFETIME_MS / 1000 } = tokenResponse;
  return { token: access, lifeMs: Math.max(seconds * 1000 || 0, 0) };
}

/** The words of the server may repeat what it was sent: only the code that it gave is said. */
function describeRefusal(status: number, code: string | undefined): string {
  if (status < 400) return "the token endpoint gave none";
  return `the token endpoint answered ${status}${code === undefined ? "" : ` (${code})`}`;
}

// Access tokens for upstreams with the client credentials grant. One request serves all callers that wait for a token,
// and the isolate caches it until shortly before it expires. A refusal shows only its error code.
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
  /** Must go through the outbound guard. */
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
  readonly now: () => number;
  /** Keeps the token request alive if its caller goes away, because other callers wait for it. */
  readonly waitUntil: (work: Promise<unknown>) => void;
}

/** The message may be shown to callers. */
export class AccessTokenError extends Error {
  override readonly name = "AccessTokenError";
}

export const TOKEN_TIMEOUT_MS = 10_000;
/**
 * A caller that waits for another request's token asks itself after this time: the platform may have dropped that
 * request.
 */
const WAIT_TIMEOUT_MS = 5_000;
/** A token could expire on its way to the upstream, so a new one is requested this much earlier. */
const SKEW_MS = 30_000;
const LATENCY_MS = 5_000;
const DEFAULT_LIFETIME_MS = 300_000;
const MAX_LIFETIME_MS = 86_400_000;
/** A refusal is cached for this long, so that calls do not repeat it. */
const REFUSAL_TTL_MS = 5_000;
const MAX_CACHED = 500;

/** `until`: when a new token is requested. `expiresAt`: how long the token may serve if no new one can be had. */
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
 * By grant, including its secret. Bound: MAX_CACHED, the oldest entry goes first; TOKEN in token-endpoint.ts bounds the
 * length of a token.
 */
const tokenCache = new Map<string, CacheEntry>();

/** Throws an `AccessTokenError` if there is no token. */
export async function getAccessToken(grant: ClientGrant, options: TokenOptions): Promise<string> {
  const key = canonicalJson(grant);
  const cached = tokenCache.get(key);
  if (cached && isUnexpired(cached.until, MAX_AGE_MS[cached.kind], options.now())) {
    if (cached.kind === "token") return cached.token;
    if (cached.kind === "refused") throw new AccessTokenError(cached.why);
    // The platform may drop the request that asks without notice. It may also reject at once for a caller that waits on
    // an ended request.
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

/** The upstream no longer accepts this token. A newer token in the cache stays. */
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

/** `previous` is the token to replace. */
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
    // A later request may already have got a token.
    const usable = cached?.kind === "token" ? cached : previous;
    if (usable && now < usable.expiresAt) {
      if (usable !== cached) setCached(key, { ...usable, until: Math.min(until, usable.expiresAt) });
      return usable.token;
    }
    const why = `the gateway got no access token: ${error instanceof AccessTokenError ? error.message : "the token endpoint cannot be reached"}`;
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
  // If the lifetime is missing, the default applies. If it is unusable, the token serves once.
  const { access, seconds = DEFAULT_LIFETIME_MS / 1000 } = tokenResponse;
  return { token: access, lifeMs: Math.max(seconds * 1000 || 0, 0) };
}

/** The server's own words may repeat the credentials, so only its error code is shown. */
function describeRefusal(status: number, code: string | undefined): string {
  if (status < 400) return `the token endpoint answered ${status} without a usable token`;
  return `the token endpoint answered ${status}${code === undefined ? "" : ` (${code})`}`;
}

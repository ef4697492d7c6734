// Owns the access tokens that upstreams want of a client with credentials of its own: asked for once for all who wait,
// kept by this isolate until shortly before they end. Refuses to say more of a refusal than its code.
// https://datatracker.ietf.org/doc/html/rfc6749#section-4.4

import { canonicalJson } from "../../auth/seal.ts";
import { errorCodeIn, membersIn, tokenIn, tokenRequest } from "../../outbound/token-endpoint.ts";
import { inTime } from "../../tenants/isolate/in-time.ts";
import { lasts } from "../../tenants/isolate/lasting.ts";

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

export interface TokenHow {
  /** By the door through which every request leaves. */
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
  readonly now: () => number;
  /** Keeps the asking alive when whoever began it goes away: others wait for it. */
  readonly waitUntil: (work: Promise<unknown>) => void;
}

/** Its message can be shown. */
export class TokenRefusal extends Error {
  override readonly name = "TokenRefusal";
}

/** Within this the token endpoint answers. */
export const TOKEN_WITHIN_MS = 10_000;
/** Who waits for what another request has asked asks for itself after this: the platform may have dropped that one. */
const PATIENCE_MS = 5_000;
/** A token that is used when it ends is refused on the way, so another one is there before. */
const SKEW_MS = 30_000;
const ON_THE_WAY_MS = 5_000;
const UNSAID_LIFE_MS = 300_000;
const LONGEST_LIFE_MS = 86_400_000;
/** Whoever was refused is not asked again by each call. */
const REFUSED_FOR_MS = 5_000;
const MOST_KEPT = 500;

/** `until`: when another one is asked for. `ends`: until then it serves where there is no other. */
interface Token {
  readonly kind: "token";
  readonly token: string;
  readonly until: number;
  readonly ends: number;
}

type Held =
  | Token
  | { readonly kind: "refused"; readonly why: string; readonly until: number }
  | { readonly kind: "asking"; readonly work: Promise<string>; readonly until: number };

const LASTS_MS = { token: LONGEST_LIFE_MS, refused: REFUSED_FOR_MS, asking: PATIENCE_MS } as const;

/**
 * By grant, its secret included; the longest there goes first.
 * Bound: MOST_KEPT; an upstream's answer with a token has a bound of its own.
 */
const held = new Map<string, Held>();

/** Throws a `TokenRefusal` where there is none. */
export async function accessToken(grant: ClientGrant, how: TokenHow): Promise<string> {
  const key = canonicalJson(grant);
  const known = held.get(key);
  if (known && lasts(known.until, LASTS_MS[known.kind], how.now())) {
    if (known.kind === "token") return known.token;
    if (known.kind === "refused") throw new TokenRefusal(known.why);
    // The platform may drop who is asking, without a word, or reject at once whoever waits for a request that has ended.
    return inTime(known.work, known.until - how.now()).catch((error: unknown) => {
      if (error instanceof TokenRefusal) throw error;
      if (held.get(key) === known) held.delete(key);
      return accessToken(grant, how);
    });
  }
  const work = ask(grant, how, known?.kind === "token" ? known : undefined);
  keep(key, { kind: "asking", work, until: how.now() + PATIENCE_MS });
  const settled = work.then(
    () => {},
    () => {},
  );
  how.waitUntil(settled);
  return work;
}

/** The upstream takes it no more. Another one that came meanwhile stays. */
export function forgetAccessToken(grant: ClientGrant, token: string): void {
  const key = canonicalJson(grant);
  const known = held.get(key);
  if (known?.kind === "token" && known.token === token) held.delete(key);
}

function keep(key: string, value: Held): void {
  held.delete(key);
  held.set(key, value);
  for (const oldest of held.keys()) {
    if (held.size <= MOST_KEPT) break;
    held.delete(oldest);
  }
}

/** `before`: the one that another is asked for in place of. */
async function ask(grant: ClientGrant, how: TokenHow, before: Token | undefined): Promise<string> {
  const key = canonicalJson(grant);
  try {
    const { token, lifeMs } = await askServer(grant, how);
    const now = how.now();
    const until = now + Math.min(Math.max(lifeMs - SKEW_MS, lifeMs / 2), LONGEST_LIFE_MS);
    keep(key, { kind: "token", token, until, ends: now + Math.min(lifeMs - ON_THE_WAY_MS, LONGEST_LIFE_MS) });
    return token;
  } catch (error) {
    const now = how.now();
    const until = now + REFUSED_FOR_MS;
    const known = held.get(key);
    // Somebody who asked later may have one already.
    const other = known?.kind === "token" ? known : before;
    if (other && now < other.ends) {
      if (other !== known) keep(key, { ...other, until: Math.min(until, other.ends) });
      return other.token;
    }
    const why = `it has no access token: ${error instanceof TokenRefusal ? error.message : "the token endpoint cannot be reached"}`;
    keep(key, { kind: "refused", why, until });
    throw new TokenRefusal(why);
  }
}

async function askServer(
  { tokenUrl, clientId, clientSecret, method, scope, resource }: ClientGrant,
  { fetch }: TokenHow,
): Promise<{ readonly token: string; readonly lifeMs: number }> {
  const client = { id: clientId, secret: clientSecret, isBasic: method === "client_secret_basic" };
  const form = {
    grant_type: "client_credentials",
    ...(scope !== undefined && { scope }),
    ...(resource !== undefined && { resource }),
  };
  const signal = AbortSignal.timeout(TOKEN_WITHIN_MS);
  const response = await fetch(tokenUrl, { ...tokenRequest(client, form), signal });
  const { status, headers } = response;
  const body = membersIn(await response.text(), headers.get("content-type"));
  const given = status === 200 && body ? tokenIn(body) : undefined;
  if (!given) throw new TokenRefusal(whyNot(status, errorCodeIn(body?.["error"])));
  // How long it serves may be unsaid, or said so that nobody understands it: then it serves once.
  const { access, seconds = UNSAID_LIFE_MS / 1000 } = given;
  return { token: access, lifeMs: Math.max(seconds * 1000 || 0, 0) };
}

/** The words of the server may repeat what it was sent: only the code that it gave is said. */
function whyNot(status: number, code: string | undefined): string {
  if (status < 400) return "the token endpoint gave none";
  return `the token endpoint answered ${status}${code === undefined ? "" : ` (${code})`}`;
}

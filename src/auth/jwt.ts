// Verifies a JWT: signed by an authorization server with its keys, or by a tenant's product with a secret shared with
// us. The first accepts no algorithm with a shared secret, the second no other. Tokens bound to a key of their bearer,
// and tokens of another type, are rejected. https://datatracker.ietf.org/doc/html/rfc8725

import {
  createLocalJWKSet,
  jwtVerify,
  type JSONWebKeySet,
  type JWTPayload,
  type JWTVerifyOptions,
  type JWTVerifyResult,
} from "jose";
import { fromBase64Url } from "./seal.ts";

export type IssuerKeys = ReturnType<typeof createLocalJWKSet>;

/** Imports each key on first use and caches it: create one per key set, not per token. */
export function issuerKeys(keys: JSONWebKeySet): IssuerKeys {
  return createLocalJWKSet(keys);
}

export interface TrustedIssuer {
  readonly issuer: string;
  readonly keys: IssuerKeys;
  /** The token must name at least one of these. */
  readonly audience: readonly string[];
}

/** The claims of a verified token. Times are seconds since the epoch. */
export type JwtClaims = Readonly<Record<string, unknown>> & { readonly sub: string; readonly exp: number };

export type VerifiedJwt =
  | { readonly kind: "verified"; readonly claims: JwtClaims }
  /** The signing key is unknown; the issuer may have newer keys. */
  | { readonly kind: "unknownKey" }
  | { readonly kind: "refused"; readonly why: string };

/** How far an issuer's clock may be off. */
export const JWT_LEEWAY_S = 30;
const SHARED_MAX_AGE_S = 300;
/** All public-key algorithms: with a shared secret, either party could write tokens. `none` is not accepted. */
const ALGORITHMS = "RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519".split(" ");
/** The type of an access token, if it has one. Other types are not credentials: `logout+jwt`, `secevent+jwt`. */
const TYPES = /^((application\/)?(at\+)?jwt)?$/i;
const MOST_CHARACTERS = 16_384;
/** https://openid.net/specs/openid-connect-core-1_0.html#IDToken */
const MAX_SUBJECT_CHARACTERS = 255;

/** The issuer that a token claims, unverified; undefined if the text is not a JWT. */
export function peekIssuer(token: string): string | undefined {
  const parts = token.split(".", 4);
  if (token.length > MOST_CHARACTERS || parts.length !== 3) return undefined;
  try {
    const { iss }: JWTPayload = JSON.parse(new TextDecoder().decode(fromBase64Url(parts[1] ?? "")));
    return iss;
  } catch {
    return undefined;
  }
}

/** `now`: milliseconds since the epoch. */
export function verifyJwt(token: string, { issuer, keys, audience }: TrustedIssuer, now: number): Promise<VerifiedJwt> {
  const requirements = { issuer, audience: [...audience], algorithms: ALGORITHMS, requiredClaims: ["exp", "sub"] };
  return runVerification((clockOptions) => jwtVerify(token, keys, { ...requirements, ...clockOptions }), now);
}

/** Verifies a token signed with a shared secret. It must be at most five minutes old, whatever its expiry. */
export function verifySharedJwt(
  token: string,
  { secret, audience }: { readonly secret: Uint8Array; readonly audience: string },
  now: number,
): Promise<VerifiedJwt> {
  const requirements = {
    audience,
    algorithms: ["HS256"],
    requiredClaims: ["exp", "iat", "sub"],
    maxTokenAge: SHARED_MAX_AGE_S,
  };
  return runVerification((clockOptions) => jwtVerify(token, secret, { ...requirements, ...clockOptions }), now);
}

async function runVerification(
  verify: (clockOptions: Pick<JWTVerifyOptions, "clockTolerance" | "currentDate">) => Promise<JWTVerifyResult>,
  now: number,
): Promise<VerifiedJwt> {
  try {
    const { payload, protectedHeader } = await verify({ clockTolerance: JWT_LEEWAY_S, currentDate: new Date(now) });
    return TYPES.test(protectedHeader.typ ?? "") ? claimsOf(payload) : rejectToken("it is not an access token");
  } catch (error) {
    const { code = "", claim = "", reason } = error as { readonly [member in "code" | "claim" | "reason"]?: string };
    if (code === "ERR_JWKS_NO_MATCHING_KEY") return { kind: "unknownKey" };
    return rejectToken(
      REJECTION_REASONS[`${claim} ${reason}`] ??
        REJECTION_REASONS[claim] ??
        REJECTION_REASONS[code] ??
        "it cannot be verified",
    );
  }
}

function claimsOf(payload: JWTPayload): VerifiedJwt {
  const { sub, exp, cnf } = payload;
  if (cnf !== undefined) return rejectToken("it is bound to a key, which is not supported");
  if (!sub || sub.length > MAX_SUBJECT_CHARACTERS || exp === undefined)
    return rejectToken("its sub claim is missing or too long");
  return { kind: "verified", claims: { ...payload, sub, exp } };
}

/** Keyed by the invalid claim, else by the library's error code. The texts repeat nothing of the token. */
const REJECTION_REASONS: Readonly<Record<string, string>> = {
  exp: "it has expired",
  "exp missing": "its exp claim is missing",
  nbf: "it is not valid yet",
  iat: "its iat claim must be within the last five minutes",
  iss: "it has another issuer",
  aud: "it is for another audience",
  sub: "its sub claim is missing or too long",
  ERR_JOSE_ALG_NOT_ALLOWED: "its algorithm is not allowed",
};

function rejectToken(why: string): VerifiedJwt {
  return { kind: "refused", why };
}

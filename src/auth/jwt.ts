// Owns verifying a JWT that somebody else signed, for an audience, at a time: an authorization server by its keys, or a
// tenant's product by a secret that it shares with us. Refuses for the first every algorithm with a shared secret, for the
// second every other, and tokens that are bound to a key of their bearer's or of another kind.
// https://datatracker.ietf.org/doc/html/rfc8725

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

/** Imports each key when it is needed first, and keeps it: make one for a set of keys, not for a token. */
export function issuerKeys(keys: JSONWebKeySet): IssuerKeys {
  return createLocalJWKSet(keys);
}

export interface TrustedIssuer {
  readonly issuer: string;
  readonly keys: IssuerKeys;
  /** Of these the token names at least one. */
  readonly audience: readonly string[];
}

/** What is left of a token that was verified. Times are seconds since the epoch. */
export type JwtClaims = Readonly<Record<string, unknown>> & { readonly sub: string; readonly exp: number };

export type VerifiedJwt =
  | { readonly kind: "verified"; readonly claims: JwtClaims }
  /** None of the keys is the one that signed it: there may be newer ones. */
  | { readonly kind: "unknownKey" }
  | { readonly kind: "refused"; readonly why: string };

/** By so much the clock of an issuer may be wrong. */
export const JWT_LEEWAY_S = 30;
const SHARED_MAX_AGE_S = 300;
/** With a public key, all of them: a secret that two share would let either write tokens. `none` is no algorithm. */
const ALGORITHMS = "RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519".split(" ");
/** An access token says one of these, or nothing. Others are no credentials: `logout+jwt`, `secevent+jwt`. */
const TYPES = /^((application\/)?(at\+)?jwt)?$/i;
const MOST_CHARACTERS = 16_384;
/** https://openid.net/specs/openid-connect-core-1_0.html#IDToken */
const MAX_SUBJECT_CHARACTERS = 255;

/** Whose the token says that it is, which nobody has verified; undefined for what is no JWT. */
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

/** Of whom the secret is shared with. It was made in the last five minutes, however long it says that it lasts. */
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
    return TYPES.test(protectedHeader.typ ?? "") ? claimsOf(payload) : rejectToken("it is no access token");
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
  if (cnf !== undefined) return rejectToken("it is bound to a key that no bearer proves");
  if (!sub || sub.length > MAX_SUBJECT_CHARACTERS || exp === undefined) return rejectToken("it names nobody");
  return { kind: "verified", claims: { ...payload, sub, exp } };
}

/** By the claim that is wrong, else by the code of the library. Nothing of the token is said again. */
const REJECTION_REASONS: Readonly<Record<string, string>> = {
  exp: "it has expired",
  "exp missing": "it does not say when it ends",
  nbf: "it is not valid yet",
  iat: "it was not made in the last five minutes",
  iss: "it has another issuer",
  aud: "it is for another audience",
  sub: "it names nobody",
  ERR_JOSE_ALG_NOT_ALLOWED: "its algorithm is not allowed",
};

function rejectToken(why: string): VerifiedJwt {
  return { kind: "refused", why };
}

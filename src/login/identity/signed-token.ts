// Tokens that the tenant signs for its own API, which verifies them with the keys that jwks.ts publishes. They are
// access tokens as in https://datatracker.ietf.org/doc/html/rfc9068, and never outlive the caller's own token.

import { SignJWT } from "jose";
import { LruMap } from "../../limits/lru-map.ts";
import { omitUndefined } from "../../protocol/members.ts";
import { withRetries } from "../../streams/with-retries.ts";
import { createRpcClient } from "../../tenants/object/store.ts";
import { isUnexpired } from "../../tenants/cache/is-unexpired.ts";
import { IdentityError } from "./identity-error.ts";
import { signingKeyStore } from "./signing-key-store.ts";
import type { IdentityTokenRequest, IdentityToken } from "./identity-token-request.ts";

const LIFETIME_S = 300;
/** Shorter than the time for which a new key is published before it signs. */
const KEY_CACHE_MS = 600_000;

interface Signer {
  readonly kid: string;
  readonly key: CryptoKey;
  readonly expires: number;
}

/** By storage key. */
const signers = new LruMap<Signer>(500);

export async function createSignedToken({
  context,
  person,
  audience,
  scopes,
}: IdentityTokenRequest): Promise<IdentityToken> {
  const { issuer: idp, subject: sub, tenantIssuer: iss, email, name, groups, expires } = person;
  if (iss === undefined) throw new IdentityError("stored");
  const { kid, key } = await getSigner(context);
  const iat = Math.floor(Date.now() / 1000);
  const exp = Math.min(iat + LIFETIME_S, Math.floor(expires / 1000));
  const jti = crypto.randomUUID();
  const scope = scopes.length > 0 ? scopes.join(" ") : undefined;
  const claims = {
    iss,
    aud: audience,
    exp,
    iat,
    jti,
    client_id: iss,
    idp,
    ...omitUndefined({ sub, scope, email, name, groups }),
  };
  const token = await new SignJWT(claims).setProtectedHeader({ alg: "ES256", typ: "at+jwt", kid }).sign(key);
  return { token, expires: exp * 1000 };
}

async function getSigner(context: IdentityTokenRequest["context"]): Promise<Signer> {
  const { storageKey } = context;
  const cached = signers.get(storageKey);
  if (cached && isUnexpired(cached.expires, KEY_CACHE_MS, Date.now())) return cached;
  const signingKey = await withRetries(() => createRpcClient(context.stub(), signingKeyStore).getSigningKey());
  if (signingKey === "unset") throw new IdentityError("sealed");
  const { kid, jwk } = signingKey;
  const key = await crypto.subtle.importKey("jwk", jwk, { name: "ECDSA", namedCurve: "P-256" }, false, ["sign"]);
  const signer = { kid, key, expires: Date.now() + KEY_CACHE_MS };
  signers.set(storageKey, signer);
  return signer;
}

// Owns tokens that the tenant signs for its own API, which verifies them by the keys that jwks.ts publishes: access tokens
// as in https://datatracker.ietf.org/doc/html/rfc9068. Refuses to sign for longer than the caller's own token is good.

import { SignJWT } from "jose";
import { RecentMap } from "../../limits/recent-map.ts";
import { given } from "../../protocol/members.ts";
import { persistently } from "../../streams/persistently.ts";
import { remote } from "../../tenants/authority/tables.ts";
import { lasts } from "../../tenants/isolate/lasting.ts";
import { IdentityError } from "./identity-error.ts";
import { signingKeyTables } from "./signing-key-tables.ts";
import type { IdentityAsk, IdentityToken } from "./identity-ask.ts";

const GOOD_FOR_S = 300;
/** Shorter than a new key is published before it signs. */
const KEY_KEPT_MS = 600_000;

interface Signer {
  readonly kid: string;
  readonly key: CryptoKey;
  readonly until: number;
}

/** By what stands for the tenant. */
const signers = new RecentMap<Signer>(500);

export async function signedToken({ ground, person, audience, scopes }: IdentityAsk): Promise<IdentityToken> {
  const { issuer: idp, subject: sub, home: iss, email, name, groups, expires } = person;
  if (iss === undefined) throw new IdentityError("stored");
  const { kid, key } = await signerOf(ground);
  const iat = Math.floor(Date.now() / 1000);
  const exp = Math.min(iat + GOOD_FOR_S, Math.floor(expires / 1000));
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
    ...given({ sub, scope, email, name, groups }),
  };
  const token = await new SignJWT(claims).setProtectedHeader({ alg: "ES256", typ: "at+jwt", kid }).sign(key);
  return { token, until: exp * 1000 };
}

async function signerOf(ground: IdentityAsk["ground"]): Promise<Signer> {
  const { kept } = ground;
  const known = signers.get(kept);
  if (known && lasts(known.until, KEY_KEPT_MS, Date.now())) return known;
  const signing = await persistently(() => remote(ground.stub(), signingKeyTables).signing());
  if (signing === "unset") throw new IdentityError("sealed");
  const { kid, jwk } = signing;
  const key = await crypto.subtle.importKey("jwk", jwk, { name: "ECDSA", namedCurve: "P-256" }, false, ["sign"]);
  const signer = { kid, key, until: Date.now() + KEY_KEPT_MS };
  signers.set(kept, signer);
  return signer;
}

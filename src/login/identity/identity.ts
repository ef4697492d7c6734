// Owns `ctx.identity`: a token with which a handler calls the tenant's own API as the person who calls. This isolate keeps
// each until shortly before it ends, under all that it was asked with. Refuses every audience that the document does not name.

import type { Identity, TokenAsk } from "../../calls/call-host.ts";
import type { Person } from "../../auth/principal.ts";
import { canonicalJson, digest } from "../../auth/seal.ts";
import type { IdentityGround, TendGround } from "../../deployment/deployment.ts";
import { RecentMap } from "../../limits/recent-map.ts";
import { lasts } from "../../tenants/isolate/lasting.ts";
import { exchangedToken } from "./exchange.ts";
import { IdentityError } from "./identity-error.ts";
import { wayOf } from "./identity-ways.ts";
import { providerToken } from "./provider-token.ts";
import { signedToken } from "./signed-token.ts";
import type { IdentityAsk, IdentityToken } from "./identity-ask.ts";

/** A token that is used when it ends is refused on the way. */
const SKEW_MS = 30_000;
const LONGEST_KEPT_MS = 3_600_000;
const MOST_SCOPES = 50;
/** https://datatracker.ietf.org/doc/html/rfc6749#section-3.3 */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]{1,200}$/;

const kept = new RecentMap<IdentityToken>(500);

export function identityOf(ground: IdentityGround): Identity {
  return { token: (ask) => tokenFor(ground, ask) };
}

async function tokenFor(ground: IdentityGround, { audience, scopes = [] }: TokenAsk): Promise<string> {
  const { principal, document, credential } = ground;
  if (principal.kind !== "oauth") throw new IdentityError(principal.kind);
  const person = principal as Person;
  const way = wayOf(document, person);
  if (!way) throw new IdentityError("unset");
  if (!way.audiences.includes(audience)) throw new IdentityError("audience");
  if (scopes.length > MOST_SCOPES || !scopes.every((scope) => SCOPE.test(scope))) throw new IdentityError("scopes");
  if (person.expires <= Date.now()) throw new IdentityError("ended");
  const asking = { ground, tend: tendGround(ground), person, way, audience, scopes };
  // Everything that the token is made of: whoever differs in any of it has another one.
  const key = await digest(canonicalJson([ground.kept, person, credential, way, audience, scopes]));
  const known = kept.get(key);
  if (known && lasts(known.until, LONGEST_KEPT_MS, Date.now())) return known.token;
  const { token, until } = await newToken(asking);
  const life = until - Date.now();
  kept.set(key, { token, until: Date.now() + Math.min(Math.max(life - SKEW_MS, life / 2), LONGEST_KEPT_MS) });
  return token;
}

function newToken(asking: IdentityAsk): Promise<IdentityToken> {
  const { way, person, ground } = asking;
  if (way.via === "signed") return signedToken(asking);
  if (way.via === "provider") return providerToken(asking);
  if (person.grant !== undefined)
    return providerToken({ ...asking, scopes: [] }).then(({ token }) => exchangedToken(asking, token));
  const { credential } = ground;
  if (credential.kind !== "stranger") throw new IdentityError("stored");
  return exchangedToken(asking, credential.token);
}

function tendGround(ground: IdentityGround): TendGround {
  const { tenant, document, env, visit, snapshot } = ground;
  return {
    tenant,
    placement: visit.placement,
    created: snapshot.created,
    revision: snapshot.version,
    document,
    leased: snapshot.sections,
    server: visit.deployment.catalog.server,
    env: env as TendGround["env"],
    stub: () => ground.stub(),
    secret: (name) => ground.secret(name),
    onError: (error) => {
      ground.onError(error);
    },
  };
}

// Owns who calls a tenant with tokens of authorization servers: verifies each once in an isolate, and says where to get
// one. Refuses keys where only such tokens are taken, and takes no token anywhere else.

import { claimedIssuer, verifyJwt, type JwtClaims } from "../auth/jwt.ts";
import type { Person, Principal } from "../auth/principal.ts";
import type { CallerGround } from "../deployment/deployment.ts";
import { failure, type Failure } from "../protocol/errors.ts";
import { isFailure } from "../protocol/methods/params.ts";
import { issuersOf, type IssuerDocument } from "../tenants/document/tenant-document.ts";
import { personOf } from "./claims.ts";
import { keysOf, newerKeysOf } from "./issuers/issuer-keys.ts";
import { challengeAt, protectedResourceOf, type ProtectedResource } from "./protected-resource.ts";

/** How many tokens of one tenant an isolate remembers; the one that was verified first is forgotten first. */
const MOST_KEPT = 1000;

type Known = Map<string, Person>;
type Told = Principal | Failure;

export function tokenCaller(ground: CallerGround): Told | Promise<Told> {
  const { found, document, visit } = ground;
  const { knock, request, deployment } = visit;
  const { mode = "open", auth } = document;
  if (!mode.endsWith("oauth") || !auth) return found;
  const { credential } = knock;
  if (credential.kind === "keptPerson") return stillNamed(credential.person, issuersOf(document));
  const place = protectedResourceOf(request, deployment.path, knock.path);
  if (credential.kind === "stranger") return bearerOfToken(credential.token, place, ground);
  if (!isFailure(found) || found.error !== "unauthorized") return found;
  if (credential.kind === "none") return wanted(place);
  return wanted(place, mode === "oauth" ? "this tenant takes no keys" : "this key is not one of this tenant");
}

/** Without an error where no credential came: https://datatracker.ietf.org/doc/html/rfc6750#section-3.1 */
function wanted(place: ProtectedResource, why?: string): Failure {
  const message = why === undefined ? undefined : `Invalid credential: ${why}`;
  return { ...failure("unauthorized", message), challenge: challengeAt(place, why) };
}

/** A token is good until it ends, while its issuer is one of the tenant's. */
function stillNamed(person: Person, issuers: readonly IssuerDocument[]): Told {
  const isNamed = issuers.some(({ issuer }) => issuer === person.issuer);
  return isNamed && Date.now() < person.expires ? person : failure("unauthorized", "The token of this call has ended");
}

function bearerOfToken(token: string, place: ProtectedResource, ground: CallerGround): Told | Promise<Told> {
  const { derived } = ground;
  const known = (derived.get(tokenCaller) as Known | undefined) ?? new Map<string, Person>();
  derived.set(tokenCaller, known);
  // A token is for some of a tenant's endpoints only.
  const key = `${place.resource} ${token}`;
  const person = known.get(key);
  if (person) {
    if (Date.now() < person.expires) return person;
    known.delete(key);
    return wanted(place, "it has expired");
  }
  return verify(token, place, ground).then((verified) => {
    if ("kind" in verified && verified.kind === "failure") return verified;
    remember(known, key, verified);
    return verified;
  });
}

function remember(known: Known, key: string, person: Person): void {
  known.set(key, person);
  const [oldest = ""] = known.keys();
  if (known.size > MOST_KEPT) known.delete(oldest);
}

async function verify(token: string, place: ProtectedResource, ground: CallerGround): Promise<Person | Failure> {
  const claimed = claimedIssuer(token);
  const issuer = issuersOf(ground.document).find((one) => one.issuer === claimed);
  if (!issuer)
    return wanted(place, claimed === undefined ? "it is neither a key nor a token" : "it has another issuer");
  const claims = await claimsOf(token, issuer, { place, ground });
  return isFailure(claims) ? claims : personOf(issuer, claims);
}

interface Asked {
  readonly place: ProtectedResource;
  readonly ground: CallerGround;
}

async function claimsOf(token: string, issuer: IssuerDocument, { place, ground }: Asked): Promise<JwtClaims | Failure> {
  const tend = ground.tend();
  const audience = audienceOf(issuer, place, ground);
  const attempt = async (keys: Awaited<ReturnType<typeof keysOf>>) =>
    keys && verifyJwt(token, { issuer: issuer.issuer, keys, audience }, Date.now());
  try {
    let verified = await attempt(await keysOf(tend, issuer.issuer));
    if (!verified || verified.kind === "unknownKey") verified = await attempt(await newerKeysOf(tend, issuer.issuer));
    if (verified?.kind === "verified") return verified.claims;
    if (verified) return wanted(place, verified.kind === "refused" ? verified.why : "no key of its issuer signed it");
  } catch (error) {
    tend.onError(error);
  }
  // Not 401: clients would have the person log in again, to no effect.
  const why = "Service unavailable: the authorization server of this token cannot be reached right now";
  return { ...failure("unavailable", why), retryAfter: 5 };
}

/** What an operator names is for the tenant itself: nobody could tell by it which profile a token is for. */
function audienceOf(
  { audience }: IssuerDocument,
  { resource }: ProtectedResource,
  { visit }: CallerGround,
): readonly string[] {
  return visit.knock.profile === null && audience ? audience : [resource];
}

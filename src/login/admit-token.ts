// Owns who calls a tenant with tokens of authorization servers, or with nothing in the mode `mixed`: verifies each token once
// in an isolate, and says where to get one. Refuses keys where only such tokens are taken, and takes no token anywhere else.

import { keyIdOf } from "../auth/api-key.ts";
import type { Credential } from "../auth/credential.ts";
import { exposedBy } from "../auth/origin.ts";
import { claimedIssuer, type JwtClaims } from "../auth/jwt.ts";
import { ANONYMOUS, type Person, type Principal } from "../auth/principal.ts";
import type { CallerGround } from "../deployment/deployment.ts";
import { failure, type Failure } from "../protocol/errors.ts";
import { isFailure } from "../protocol/methods/params.ts";
import {
  issuersOf,
  takesTokens,
  type IssuerDocument,
  type TenantDocument,
} from "../tenants/document/tenant-document.ts";
import { personOf } from "./claims.ts";
import { verifiedBy } from "./issuers/issuer-keys.ts";
import { firstScopesOf } from "./oauth-scopes.ts";
import { challengeAt, homeOf, protectedResourceOf, type ProtectedResource } from "./protected-resource.ts";

/** How many tokens of one tenant an isolate remembers; the one that was verified first is forgotten first. */
const MOST_KEPT = 1000;
/** Of all of them: an issuer that somebody made may write long ones, and other tenants are in the same memory. */
const MOST_CHARACTERS = 2_000_000;

type Known = Map<string, Person>;
/** Under which a snapshot has them. */
const KNOWN = Symbol("tokens");
type Told = Principal | Failure;

export async function tokenCaller(ground: CallerGround): Promise<Told> {
  const { found, document, visit } = ground;
  const { credential } = visit.knock;
  const { mode, auth } = document;
  if (!takesTokens(mode) || !auth) return found;
  if (credential.kind === "keptPerson") return stillNamed(credential.person, issuersOf(document));
  if (credential.kind === "app") return isFailure(found) ? found : withEverybodys(found, document);
  const place = resourceAsked(visit);
  if (credential.kind === "stranger") return bearerOfToken(credential.token, place, ground);
  if (isFailure(found)) return found.error === "unauthorized" ? unknownCaller(ground, credential) : found;
  return isElsewhere(found, credential.kind, place) ? wanted(ground, OF_ANOTHER) : withEverybodys(found, document);
}

/** Who brings nothing, or a key or token of ours that is not one of this tenant. */
function unknownCaller(ground: CallerGround, credential: Credential): Told {
  const { document } = ground;
  const { mode } = document;
  if (credential.kind === "none")
    return mode === "mixed" ? { ...ANONYMOUS, scopes: everybodysIn(document) } : wanted(ground);
  if (credential.kind === "key" && keyIdOf(credential.token) === undefined) return wanted(ground, "it has ended");
  return wanted(ground, mode === "oauth" ? "this tenant takes no keys" : "this key is not one of this tenant");
}

const OF_ANOTHER = "it is for another audience";

/** A token of ours is for one endpoint. Where its request is over, that was looked at when it came. */
function isElsewhere(found: Principal, kind: string, { resource }: ProtectedResource): boolean {
  const { resource: meant = resource } = found as Partial<Person>;
  return kind === "key" && meant !== resource;
}

/** Scopes of the tenant that need no credential; none where nothing says so. */
function everybodysIn({ mode, auth }: TenantDocument): readonly string[] {
  return mode === "mixed" ? (auth?.anonymous?.scopes ?? []) : [];
}

/** Who signed in sees what everybody sees, too; a key has its own scopes. */
function withEverybodys(found: Principal, document: TenantDocument): Principal {
  const { kind, scopes } = found;
  const more = everybodysIn(document);
  return kind !== "key" && scopes && more.length > 0 ? { ...found, scopes: [...new Set([...more, ...scopes])] } : found;
}

/** Which endpoint is asked for. */
export function resourceAsked({ knock, request, deployment }: CallerGround["visit"]): ProtectedResource {
  return protectedResourceOf(request, deployment.path, knock.path);
}

/** Who sees this in a browser has opened what is for a client. */
function forPerson({ headers }: Request): string | undefined {
  const isBrowser = headers.get("accept")?.includes("text/html");
  return isBrowser
    ? "Authorization required: add this URL to an MCP client, which opens the page to sign in"
    : undefined;
}

/** Without an error where no credential came: https://datatracker.ietf.org/doc/html/rfc6750#section-3.1 */
export function wanted({ visit, document: { auth } }: Pick<CallerGround, "visit" | "document">, why?: string): Failure {
  const exposed = exposedBy(visit.request);
  if (exposed) return exposed;
  const message = why === undefined ? forPerson(visit.request) : `Invalid credential: ${why}`;
  const wrong = why === undefined ? undefined : ({ error: "invalid_token", why } as const);
  const challenge = challengeAt(resourceAsked(visit), auth ? firstScopesOf(auth) : [], wrong);
  return { ...failure("unauthorized", message), challenge };
}

/** A token is good until it ends, while its issuer is one of the tenant's. */
function stillNamed(person: Person, issuers: readonly IssuerDocument[]): Told {
  const isNamed = issuers.some(({ issuer }) => issuer === person.issuer);
  return isNamed && Date.now() < person.expires ? person : failure("unauthorized", "The token of this call has ended");
}

async function bearerOfToken(token: string, place: ProtectedResource, ground: CallerGround): Promise<Told> {
  const { derived } = ground;
  const known = (derived.get(KNOWN) as Known | undefined) ?? new Map<string, Person>();
  derived.set(KNOWN, known);
  // A token is for some of a tenant's endpoints only.
  const key = `${place.resource} ${token}`;
  const person = known.get(key);
  if (person) {
    if (Date.now() < person.expires) return person;
    known.delete(key);
    return wanted(ground, "it has expired");
  }
  const verified = await verify(token, place, ground);
  if ("kind" in verified && verified.kind === "failure") return verified;
  const named = { ...verified, home: homeOf(ground.visit) };
  rememberToken(known, key, named);
  return named;
}

/** The newest is kept whatever it takes. */
export function rememberToken(known: Known, key: string, person: Person): void {
  known.set(key, person);
  let characters = 0;
  for (const { length } of known.keys()) characters += length;
  for (const oldest of known.keys()) {
    if ((known.size <= MOST_KEPT && characters <= MOST_CHARACTERS) || oldest === key) break;
    known.delete(oldest);
    characters -= oldest.length;
  }
}

async function verify(token: string, place: ProtectedResource, ground: CallerGround): Promise<Person | Failure> {
  const claimed = claimedIssuer(token);
  const issuer = issuersOf(ground.document).find((one) => one.issuer === claimed);
  if (!issuer)
    return wanted(ground, claimed === undefined ? "it is neither a key nor a token" : "it has another issuer");
  const claims = await claimsOf(token, issuer, { place, ground });
  if (isFailure(claims)) return claims;
  return personOf(issuer, claims, everybodysIn(ground.document));
}

interface Asked {
  readonly place: ProtectedResource;
  readonly ground: CallerGround;
}

async function claimsOf(token: string, issuer: IssuerDocument, { place, ground }: Asked): Promise<JwtClaims | Failure> {
  const tend = ground.tend();
  const audience = audienceOf(issuer, place, ground);
  try {
    const verified = await verifiedBy(tend, token, { issuer: issuer.issuer, audience });
    if (verified?.kind === "verified") return verified.claims;
    if (verified) return wanted(ground, verified.kind === "refused" ? verified.why : "no key of its issuer signed it");
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
  { resource, written }: ProtectedResource,
  { visit }: CallerGround,
): readonly string[] {
  return visit.knock.profile === null && audience ? audience : [resource, written];
}

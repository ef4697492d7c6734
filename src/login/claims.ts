// Converts the claims of a verified token into a principal and its scopes.

import { JWT_LEEWAY_S, type JwtClaims } from "../auth/jwt.ts";
import type { OAuthPrincipal } from "../auth/principal.ts";
import { oauthScopesOf, SCOPE_CLAIM } from "./oauth-scopes.ts";
import type { IssuerDocument } from "../tenants/document/tenant-document.ts";

/** `anonymousScopes`: scopes of the tenant that need no credential. */
export function principalFromClaims(
  document: IssuerDocument,
  tokenClaims: JwtClaims,
  anonymousScopes: readonly string[],
): OAuthPrincipal {
  const { issuer, scopes, claims: visibleNames } = document;
  const { sub, exp } = tokenClaims;
  const claims = dropUnverifiedEmail(tokenClaims);
  const tokenScopes = new Set(scopes ? claimValuesOf(claims, scopes.claim) : []);
  return {
    kind: "oauth",
    // Unambiguous, because an issuer contains no space.
    id: `oauth ${issuer} ${sub}`,
    issuer,
    subject: sub,
    ...profileOf(claims),
    scopes: scopes && scopesFromClaims(claims, scopes, anonymousScopes),
    granted: oauthScopesOf(document).filter((one) => tokenScopes.has(one)),
    claims: visibleClaims(claims, visibleNames),
    expires: (exp + JWT_LEEWAY_S) * 1000,
  };
}

/** An unverified address may belong to another person: it is not shown, and gives no scope. */
function dropUnverifiedEmail({ email, ...others }: Claims): Claims {
  return email === undefined || String(others["email_verified"]) === "false" ? others : { ...others, email };
}

/** https://openid.net/specs/openid-connect-core-1_0.html#StandardClaims */
export function profileOf(claims: Claims): Pick<OAuthPrincipal, "email" | "name" | "groups"> {
  const { email, name, groups } = claims;
  return {
    ...(typeof email === "string" && { email }),
    ...(typeof name === "string" && { name }),
    ...(Array.isArray(groups) && { groups: groups.filter((one) => typeof one === "string") }),
  };
}

type Claims = Readonly<Record<string, unknown>>;

/** The claims that handlers see. */
export function visibleClaims(claims: Claims, names: readonly string[] = []): Claims {
  return Object.fromEntries(names.filter((name) => Object.hasOwn(claims, name)).map((name) => [name, claims[name]]));
}

/** In the order of the document, so that equal callers share a view. */
export function scopesFromClaims(
  claims: Claims,
  { claim, values }: NonNullable<IssuerDocument["scopes"]>,
  anonymousScopes: readonly string[] = [],
): readonly string[] {
  const claimValues = new Set(claimValuesOf(claims, claim));
  return [
    ...new Set([
      ...anonymousScopes,
      ...Object.entries(values).flatMap(([one, names]) => (claimValues.has(one) ? names : [])),
    ]),
  ];
}

export function claimValuesOf(claims: Claims, claim: string): readonly unknown[] {
  return textsOf(
    Object.hasOwn(claims, claim) ? claims[claim] : claim.split(".").reduce<unknown>(memberOf, claims),
    claim,
  );
}

/** `realm_access.roles` is a claim inside another claim. */
function memberOf(value: unknown, name: string): unknown {
  const isThere = typeof value === "object" && value !== null && Object.hasOwn(value, name);
  return isThere ? (value as Record<string, unknown>)[name] : undefined;
}

/** Scopes are one text separated by spaces. Any other text is a single value: a person may have written it. */
function textsOf(value: unknown, claim: string): readonly unknown[] {
  if (Array.isArray(value)) return value;
  return typeof value === "string" && SCOPE_CLAIM.test(claim) ? value.split(" ") : [value];
}

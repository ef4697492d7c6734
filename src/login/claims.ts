// Owns what the claims of a verified token make of its bearer: who it is, and what limits what they see. Pure.

import { JWT_LEEWAY_S, type JwtClaims } from "../auth/jwt.ts";
import type { Person } from "../auth/principal.ts";
import type { IssuerDocument } from "../tenants/document/tenant-document.ts";

export function personOf({ issuer, scopes, claims: shown = [] }: IssuerDocument, claims: JwtClaims): Person {
  const { sub, exp } = claims;
  return {
    kind: "oauth",
    // No issuer has a blank in its name.
    id: `oauth ${issuer} ${sub}`,
    issuer,
    subject: sub,
    scopes: scopes && scopesIn(claims, scopes),
    claims: Object.fromEntries(shown.filter((name) => Object.hasOwn(claims, name)).map((name) => [name, claims[name]])),
    expires: (exp + JWT_LEEWAY_S) * 1000,
  };
}

/** In the order of the document, so that equal callers share a view. */
function scopesIn(claims: JwtClaims, { claim, values }: NonNullable<IssuerDocument["scopes"]>): readonly string[] {
  const value = Object.hasOwn(claims, claim) ? claims[claim] : claim.split(".").reduce<unknown>(member, claims);
  const said = new Set(textsOf(value, claim));
  return [...new Set(Object.entries(values).flatMap(([one, scopes]) => (said.has(one) ? scopes : [])))];
}

/** `realm_access.roles`: a claim inside another one. */
function member(value: unknown, name: string): unknown {
  const isThere = typeof value === "object" && value !== null && Object.hasOwn(value, name);
  return isThere ? (value as Record<string, unknown>)[name] : undefined;
}

/** Scopes stand in one text with blanks between; any other text is one value, whatever a person could write into it. */
function textsOf(value: unknown, claim: string): readonly unknown[] {
  if (Array.isArray(value)) return value;
  return typeof value === "string" && /^(scope|scp)$/.test(claim) ? value.split(" ") : [value];
}

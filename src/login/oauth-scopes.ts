// OAuth scopes that stand for a tenant's scopes: all of them, and those that a client requests first. Clients cannot
// request values of other claims, such as groups.

import type { AuthDocument, IssuerDocument } from "../tenants/document/tenant-document.ts";

/** Claims that hold OAuth scopes, separated by spaces. */
export const SCOPE_CLAIM = /^(scope|scp)$/;
/** https://datatracker.ietf.org/doc/html/rfc6749#section-3.3 */
const SCOPE_TOKEN = /^[!#-[\]-~]+$/;
/** Most scopes that a client requests by default. */
const MAX_INITIAL = 50;

export function oauthScopesOf({ scopes }: IssuerDocument): readonly string[] {
  if (!scopes || !SCOPE_CLAIM.test(scopes.claim)) return [];
  return Object.keys(scopes.values).filter((name) => SCOPE_TOKEN.test(name));
}

/** Scopes of the first issuer, which clients use; empty if that is the tenant itself. */
export function initialScopesOf({ issuers: [first] = [], login }: AuthDocument): readonly string[] {
  return first && !login ? (first.scopes?.first ?? oauthScopesOf(first).slice(0, MAX_INITIAL)) : [];
}

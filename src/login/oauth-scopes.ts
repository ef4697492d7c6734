// Owns which scopes of OAuth stand for scopes of a tenant: all of them, and those that a client asks for first. Of other
// claims, such as groups, nobody can ask for more. Pure.

import type { AuthDocument, IssuerDocument } from "../tenants/document/tenant-document.ts";

/** Claims in which OAuth scopes stand, with blanks between them. */
export const SCOPE_CLAIM = /^(scope|scp)$/;
/** https://datatracker.ietf.org/doc/html/rfc6749#section-3.3 */
const SCOPE_TOKEN = /^[!#-[\]-~]+$/;
/** Without a word about it a client asks for so many at once. */
const MAX_INITIAL = 50;

export function oauthScopesOf({ scopes }: IssuerDocument): readonly string[] {
  if (!scopes || !SCOPE_CLAIM.test(scopes.claim)) return [];
  return Object.keys(scopes.values).filter((name) => SCOPE_TOKEN.test(name));
}

/** Of the issuer that clients take, which is the first; none where that is the tenant itself. */
export function initialScopesOf({ issuers: [first] = [], login }: AuthDocument): readonly string[] {
  return first && !login ? (first.scopes?.first ?? oauthScopesOf(first).slice(0, MAX_INITIAL)) : [];
}

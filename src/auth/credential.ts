// The credential of a request, as a tagged value. The tenant object decides what a credential is worth.

import { hashToken, keyIdOf } from "./api-key.ts";
import type { AppUser } from "./app-user.ts";
import { parseBearer, type OAuthPrincipal, type Principal } from "./principal.ts";

export type Credential =
  | { readonly kind: "none" }
  /** A tenant's key, or an access token of its own authorization server, as the client sent it. */
  | { readonly kind: "key"; readonly token: string }
  /** The hash of a key whose request is over: it authorizes a stored call that continues without the request. */
  | { readonly kind: "storedKey"; readonly hash: string }
  /** A text that cannot be a key of any tenant; "" if there is none. */
  | { readonly kind: "unrecognized"; readonly token: string }
  /** The user of a token whose request is over; the token itself is not stored. */
  | { readonly kind: "storedPrincipal"; readonly person: OAuthPrincipal }
  /** The user that the mounting app authenticated, in this request or in the one that started a stored call. */
  | { readonly kind: "app"; readonly user: AppUser }
  /** The Worker's own code, with the principal that it acts for. No header can produce this. */
  | { readonly kind: "worker"; readonly principal: Principal };

export const NO_CREDENTIAL: Credential = { kind: "none" };

/** Parses an Authorization header; anything but a well-formed key becomes `unrecognized`. RFC 6750, section 2.1. */
export function parseCredential(authorization: string | null): Credential {
  if (authorization === null) return NO_CREDENTIAL;
  const token = parseBearer(authorization) ?? "";
  return { kind: (keyIdOf(token) ?? keyIdOf(token, "access")) === undefined ? "unrecognized" : "key", token };
}

/**
 * Whether there is no credential, or one that does not even look like one of ours. A mistyped key is recognized as
 * ours.
 */
export function isUnrecognized(credential: Credential): boolean {
  return credential.kind === "none" || (credential.kind === "unrecognized" && !/^tn[a-z]_/i.test(credential.token));
}

/** The key under which an isolate caches what the tenant object said about a credential; undefined if it is no key. */
export function cacheKeyOf(credential: Credential): string | undefined {
  if (credential.kind === "key") return credential.token;
  return credential.kind === "storedKey" ? credential.hash : undefined;
}

/** The hash by which the tenant object knows a key; null if the credential is no key. */
export async function keyHashOf(credential: Credential): Promise<string | null> {
  if (credential.kind === "storedKey") return credential.hash;
  return credential.kind === "key" ? hashToken(credential.token) : null;
}

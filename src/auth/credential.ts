// Owns the credential that a caller brings, as a tagged value.
// Refuses to say what it is worth: the tenant's authority does.

import { hashToken, keyIdOf } from "./api-key.ts";
import type { AppUser } from "./app-user.ts";
import { parseBearer, type OAuthPrincipal, type Principal } from "./principal.ts";

export type Credential =
  | { readonly kind: "none" }
  /** A tenant's key, or an access token of its own authorization server, as a client sends it. */
  | { readonly kind: "key"; readonly token: string }
  /** The hash of a key whose request is over: a stored call that runs on without the request is admitted by it. */
  | { readonly kind: "keptKey"; readonly hash: string }
  /** A text that no tenant can have given out as a key; "" where there is none. */
  | { readonly kind: "stranger"; readonly token: string }
  /** Who was let in by a token whose request is over: no token is kept. */
  | { readonly kind: "keptPerson"; readonly person: OAuthPrincipal }
  /** Whom the app named that mounts the Worker, in this request or in the one that began a stored call. */
  | { readonly kind: "app"; readonly user: AppUser }
  /** The Worker's own code, which names whom it acts for. No header brings this. */
  | { readonly kind: "worker"; readonly principal: Principal };

export const NO_CREDENTIAL: Credential = { kind: "none" };

/** What an Authorization header brings; whatever is no well-formed key is a stranger's. RFC 6750, section 2.1. */
export function parseCredential(authorization: string | null): Credential {
  if (authorization === null) return NO_CREDENTIAL;
  const token = parseBearer(authorization) ?? "";
  return { kind: (keyIdOf(token) ?? keyIdOf(token, "access")) === undefined ? "stranger" : "key", token };
}

/** Nothing, or a credential that does not even look like one of ours. A key that was mistyped is not foreign. */
export function isUnrecognized(credential: Credential): boolean {
  return credential.kind === "none" || (credential.kind === "stranger" && !/^tn[a-z]_/i.test(credential.token));
}

/** The text under which an isolate remembers what the authority said of a key; undefined for what is no key. */
export function cacheKeyOf(credential: Credential): string | undefined {
  if (credential.kind === "key") return credential.token;
  return credential.kind === "keptKey" ? credential.hash : undefined;
}

/** The hash by which the authority knows a key; null for a credential that is no key. */
export async function keyHashOf(credential: Credential): Promise<string | null> {
  if (credential.kind === "keptKey") return credential.hash;
  return credential.kind === "key" ? hashToken(credential.token) : null;
}

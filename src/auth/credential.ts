// Owns the credential that a caller brings, as a tagged value.
// Refuses to say what it is worth: the tenant's authority does.

import { hashToken, keyIdOf } from "./api-key.ts";
import { bearerOf } from "./principal.ts";

export type Credential =
  | { readonly kind: "none" }
  /** A tenant's key, as a client sends it. */
  | { readonly kind: "key"; readonly token: string }
  /** The hash of a key whose request is over: a stored call that runs on without the request is admitted by it. */
  | { readonly kind: "keptKey"; readonly hash: string }
  /** A text that no tenant can have given out as a key. */
  | { readonly kind: "stranger" };

export const NO_CREDENTIAL: Credential = { kind: "none" };
const STRANGER: Credential = { kind: "stranger" };

/** What an Authorization header brings; whatever is no well-formed key is a stranger's. RFC 6750, section 2.1. */
export function credentialOf(authorization: string | null): Credential {
  if (authorization === null) return NO_CREDENTIAL;
  const token = bearerOf(authorization);
  return token !== null && keyIdOf(token) !== undefined ? { kind: "key", token } : STRANGER;
}

/** The text under which an isolate remembers what the authority said of a key; undefined for what is no key. */
export function memoOf(credential: Credential): string | undefined {
  switch (credential.kind) {
    case "key":
      return credential.token;
    case "keptKey":
      return credential.hash;
    case "none":
    case "stranger":
      return undefined;
  }
}

/** The hash by which the authority knows a key; null for a credential that is no key. */
export async function keyHashOf(credential: Credential): Promise<string | null> {
  if (credential.kind === "keptKey") return credential.hash;
  return credential.kind === "key" ? hashToken(credential.token) : null;
}

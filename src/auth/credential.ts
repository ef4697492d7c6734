// Owns what a caller brings to be known by, as a tagged value: what it is worth, the tenant's authority says.

import { hashToken, keyIdOf } from "./api-key.ts";
import { bearerOf } from "./principal.ts";

export type Credential =
  | { readonly kind: "none" }
  /** A tenant's key, as a client sends it. */
  | { readonly kind: "key"; readonly token: string }
  /** What is left of a key when its request is over: a run that goes on without it is admitted by this. */
  | { readonly kind: "keptKey"; readonly hash: string }
  /** Something that no tenant gives out. */
  | { readonly kind: "stranger" };

export const NO_CREDENTIAL: Credential = { kind: "none" };
const STRANGER: Credential = { kind: "stranger" };

/** RFC 6750, section 2.1. */
export function credentialOf(authorization: string | null): Credential {
  if (authorization === null) return NO_CREDENTIAL;
  const token = bearerOf(authorization);
  return token !== null && keyIdOf(token) !== undefined ? { kind: "key", token } : STRANGER;
}

/** Under which text an isolate remembers what the credential is worth; undefined: there is nothing to ask about it. */
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

/** The hash by which the authority knows a key; null for a credential that is none. */
export async function keyHashOf(credential: Credential): Promise<string | null> {
  if (credential.kind === "keptKey") return credential.hash;
  return credential.kind === "key" ? hashToken(credential.token) : null;
}

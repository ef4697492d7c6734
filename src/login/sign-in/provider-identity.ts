// Converts a provider's claims into the stored identity of a person. Drops unverified email addresses, and never
// identifies a person by a name that could belong to another person later.

import { unusableAnswer } from "./sign-in-failure.ts";
import type { SignInFailure, ProviderTokens, ProviderIdentity, SignInSuccess } from "./identity-provider-client.ts";

/** https://openid.net/specs/openid-connect-core-1_0.html#IDToken */
const MAX_SUBJECT = 255;
const MAX_NAME = 200;
/** Characters of the whole identity, because each person's is stored. */
export const MAX_IDENTITY_CHARACTERS = 40_000;

type Claims = Readonly<Record<string, unknown>>;

export function toProviderIdentity(issuer: string, subject: string, userClaims: Claims): ProviderIdentity {
  const { email, ...others } = userClaims;
  const { email_verified: isVerified = true } = others;
  const isVerifiedEmail = isVerified === true || isVerified === "true";
  // `email_verified` stays, so that a later answer without it does not count as true.
  const claims = { ...others, ...(isVerifiedEmail && email !== undefined && { email }), sub: subject };
  const { name, groups } = others;
  return {
    issuer,
    subject,
    ...(typeof name === "string" && { name: name.slice(0, MAX_NAME) }),
    ...(isVerifiedEmail && typeof email === "string" && { email }),
    ...(Array.isArray(groups) && { groups: groups.filter((one) => typeof one === "string") }),
    claims,
  };
}

/**
 * `sub`, or else `id`, which OAuth 2 providers use; never a user name or an address. A number must be one that JSON
 * represents exactly.
 */
export function subjectOf({ sub, id }: Claims): string | undefined {
  const subject = Number.isSafeInteger(sub ?? id) ? String(sub ?? id) : (sub ?? id);
  return typeof subject === "string" && subject !== "" && subject.length <= MAX_SUBJECT ? subject : undefined;
}

export function toSignInSuccess(
  url: string,
  person: ProviderIdentity,
  provider: ProviderTokens,
): SignInSuccess | SignInFailure {
  const success = { kind: "signedIn", person, provider } as const;
  return JSON.stringify(success).length > MAX_IDENTITY_CHARACTERS
    ? unusableAnswer(url, "your profile is too large")
    : success;
}

// Owns what is kept of whoever signed in, from what was said of them. Pure. Refuses an address that its owner has not
// shown to be theirs, and names that could be another person's tomorrow.

import { misfitAt } from "./not-signed-in.ts";
import type { NotSignedIn, ProviderTokens, SignedIn, SignedInWith } from "./sign-in.ts";

/** https://openid.net/specs/openid-connect-core-1_0.html#IDToken */
const MOST_SUBJECT = 255;
const MOST_NAME = 200;
/** Characters of all of it: each person's is stored. */
export const MOST_SAID = 40_000;

type Claims = Readonly<Record<string, unknown>>;

export function signedIn(issuer: string, subject: string, said: Claims): SignedIn {
  const { email_verified: isVerified = true, email, ...others } = said;
  const isTheirs = isVerified === true || isVerified === "true";
  const claims = { ...others, ...(isTheirs && email !== undefined && { email }), sub: subject };
  const { name, groups } = others;
  return {
    issuer,
    subject,
    ...(typeof name === "string" && { name: name.slice(0, MOST_NAME) }),
    ...(isTheirs && typeof email === "string" && { email }),
    ...(Array.isArray(groups) && { groups: groups.filter((one) => typeof one === "string") }),
    claims,
  };
}

/** `sub`, else `id`, which OAuth 2 providers say: never a login or an address. A number has to be one that JSON can hold. */
export function subjectIn({ sub, id }: Claims): string | undefined {
  const subject = Number.isSafeInteger(sub ?? id) ? String(sub ?? id) : (sub ?? id);
  return typeof subject === "string" && subject !== "" && subject.length <= MOST_SUBJECT ? subject : undefined;
}

export function signedInAt(url: string, person: SignedIn, provider: ProviderTokens): SignedInWith | NotSignedIn {
  const signed = { kind: "signedIn", person, provider } as const;
  return JSON.stringify(signed).length > MOST_SAID ? misfitAt(url, "it says too much of you at once") : signed;
}

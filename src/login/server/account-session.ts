// Owns who is in front of the page of grants: a person who signed in a short while ago, in a sealed cookie.

import type { LoginVisit } from "../login-visit.ts";
import type { SignedIn } from "../sign-in/sign-in.ts";
import { redirectTo } from "./answers.ts";
import { cookie, cookieOf, endCookie, newNonce, openFor, sealFor } from "./transaction.ts";

const OPEN_MS = 900_000;
const NAME = "account";

export interface AccountSession {
  readonly person: Pick<SignedIn, "issuer" | "subject" | "name" | "email">;
  readonly principal: string;
  /** In its forms: whoever did not sign in here cannot know it. */
  readonly nonce: string;
}

/** `nonce`: of the transaction in which they signed in. */
export async function openAccount(
  visit: LoginVisit,
  nonce: string,
  signed: Omit<AccountSession, "nonce">,
): Promise<Response> {
  const { issuer, subject, name, email } = signed.person;
  const person = { issuer, subject, ...(name !== undefined && { name }), ...(email !== undefined && { email }) };
  const sealed = await sealFor(visit, NAME, { person, principal: signed.principal, nonce: newNonce() }, OPEN_MS);
  return redirectTo(visit.urls.account, endCookie(visit, nonce), cookie(visit, NAME, sealed, OPEN_MS));
}

/** undefined: they have to sign in. */
export function accountOf(visit: LoginVisit): Promise<AccountSession | undefined> {
  return openFor<AccountSession>(visit, NAME, cookieOf(visit, NAME));
}

export function closeAccount(visit: LoginVisit): string {
  return endCookie(visit, NAME);
}

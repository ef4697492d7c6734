// The session of the account page: a person who signed in recently, in a sealed cookie.

import type { LoginContext } from "../login-context.ts";
import type { ProviderIdentity } from "../sign-in/identity-provider-client.ts";
import { redirectTo } from "./oauth-responses.ts";
import { serializeCookie, readCookie, expireCookie, createNonce, unsealCookie, sealCookie } from "./transaction.ts";

const SESSION_MS = 900_000;
const COOKIE_NAME = "account";

export interface AccountSession {
  readonly person: Pick<ProviderIdentity, "issuer" | "subject" | "name" | "email">;
  readonly principal: string;
  /** Part of every form: a page of another site cannot know it. */
  readonly nonce: string;
}

/** `nonce`: of the sign-in's transaction. */
export async function openAccountSession(
  context: LoginContext,
  nonce: string,
  session: Omit<AccountSession, "nonce">,
): Promise<Response> {
  const { issuer, subject, name, email } = session.person;
  const person = { issuer, subject, ...(name !== undefined && { name }), ...(email !== undefined && { email }) };
  const sealed = await sealCookie(
    context,
    COOKIE_NAME,
    { person, principal: session.principal, nonce: createNonce() },
    SESSION_MS,
  );
  return redirectTo(
    context.urls.account,
    expireCookie(context, nonce),
    serializeCookie(context, COOKIE_NAME, sealed, SESSION_MS),
  );
}

/** Returns undefined if the person must sign in. */
export function readAccountSession(context: LoginContext): Promise<AccountSession | undefined> {
  return unsealCookie<AccountSession>(context, COOKIE_NAME, readCookie(context, COOKIE_NAME));
}

export function expireAccountCookie(context: LoginContext): string {
  return expireCookie(context, COOKIE_NAME);
}

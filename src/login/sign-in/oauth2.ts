// Sign-in at a plain OAuth 2 provider, whose user endpoint identifies the person: GitHub, GitLab, Discord. People are
// not identified by a user name or an address, because those can pass to another person.

import type { LoginDocument } from "../../tenants/document/tenant-document.ts";
import { beginCodeFlow, revalidateWithProvider, finishCodeFlow, type CodeProvider } from "./code-flow.ts";
import { switchPromptOf } from "./provider-quirks.ts";
import { providerUnavailable, isSignInFailure, unusableAnswer } from "./sign-in-failure.ts";
import { requestUser } from "./provider-requests.ts";
import type { ProviderIdentity, IdentityProviderClient } from "./identity-provider-client.ts";
import { toProviderIdentity, toSignInSuccess, subjectOf } from "./provider-identity.ts";

export const oauth2: IdentityProviderClient = {
  begin: (context, state, isSwitch = false) => {
    const provider = providerOf(context.login);
    const prompt = isSwitch ? switchPromptOf(provider.authorize) : undefined;
    return beginCodeFlow(context, provider, state, { scope: context.login.request, prompt });
  },
  finish: async (context, answer, providerState) => {
    const provider = providerOf(context.login);
    const response = await finishCodeFlow(context, provider, answer, providerState);
    if (isSignInFailure(response)) return response;
    const user = await requestUser(context, provider.user, response.tokens.access);
    if (!user) return providerUnavailable(provider.user);
    const subject = user.status === 200 ? subjectOf(user.body) : undefined;
    if (subject === undefined) return unusableAnswer(provider.user, "its user endpoint returned no valid sub or id");
    return toSignInSuccess(provider.user, toPerson(provider, subject, user.body), response.tokens);
  },
  revalidate: (context, tokens, { subject }) => {
    const provider = providerOf(context.login);
    return revalidateWithProvider(context, provider, tokens, async (access, _given, earlierUser) => {
      const user = earlierUser ?? (await requestUser(context, provider.user, access));
      if (user && user.status !== 200) return "silent";
      return user && subjectOf(user.body) === subject ? toPerson(provider, subject, user.body) : undefined;
    });
  },
};

type UserClaims = Readonly<Record<string, unknown>>;

function toPerson({ authorize }: CodeProvider, subject: string, userClaims: UserClaims): ProviderIdentity {
  return toProviderIdentity(new URL(authorize).origin, subject, {
    ...userClaims,
    email_verified: isEmailVerified(userClaims),
  });
}

/**
 * No standard defines this: Discord uses `verified`, GitLab `confirmed_at`. Without either, the address counts as
 * unverified.
 */
function isEmailVerified(userClaims: UserClaims): unknown {
  const { verified, confirmed_at: confirmed } = userClaims;
  const hasConfirmation = typeof confirmed === "string" && !Number.isNaN(Date.parse(confirmed));
  return userClaims["email_verified"] ?? (verified === true || (verified === undefined && hasConfirmation));
}

/** Sends client secrets in the form: GitHub documents nothing else. */
function providerOf({
  authorizeUrl = "",
  tokenUrl = "",
  userUrl = "",
}: LoginDocument): CodeProvider & { user: string } {
  return { authorize: authorizeUrl, token: tokenUrl, user: userUrl, namesItself: false, takesBasic: false };
}

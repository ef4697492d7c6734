// Owns signing in at a provider of plain OAuth 2, whose user endpoint says who somebody is: GitHub, GitLab, Discord.
// Refuses to know people by a login or an address: those can be given to another person.

import type { LoginDocument } from "../../tenants/document/tenant-document.ts";
import { beginCode, confirmAt, finishCode, switchPrompt, type CodeProvider } from "./code-flow.ts";
import { awayAt, isRefused, misfitAt } from "./not-signed-in.ts";
import { askUser } from "./provider-requests.ts";
import type { SignIn } from "./sign-in.ts";
import { signedIn, signedInAt, subjectIn } from "./signed-in.ts";

export const oauth2: SignIn = {
  begin: (visit, state, isSwitch = false) => {
    const provider = providerIn(visit.login);
    const prompt = isSwitch ? switchPrompt(provider.authorize) : undefined;
    return beginCode(visit, provider, state, { scope: visit.login.request, prompt });
  },
  finish: async (visit, answer, kept) => {
    const provider = providerIn(visit.login);
    const given = await finishCode(visit, provider, answer, kept);
    if (isRefused(given)) return given;
    const user = await askUser(visit, provider.user, given.tokens.access);
    if (!user) return awayAt(provider.user);
    const subject = user.status === 200 ? subjectIn(user.body) : undefined;
    if (subject === undefined) return misfitAt(provider.user, "its user endpoint names nobody, by sub or id");
    const { origin } = new URL(provider.authorize);
    const said = { ...user.body, email_verified: isVerified(user.body) };
    return signedInAt(provider.user, signedIn(origin, subject, said), given.tokens);
  },
  confirm: (visit, tokens) => confirmAt(visit, providerIn(visit.login), tokens),
};

/** No standard names it: `verified` is Discord's word, `confirmed_at` GitLab's. Who says nothing has not looked. */
function isVerified(said: Readonly<Record<string, unknown>>): unknown {
  const { verified, confirmed_at: confirmed } = said;
  const isConfirmed = typeof confirmed === "string" && !Number.isNaN(Date.parse(confirmed));
  return said["email_verified"] ?? (verified === true || (verified === undefined && isConfirmed));
}

/** Clients show their secrets in the form: GitHub describes nothing else. */
function providerIn({
  authorizeUrl = "",
  tokenUrl = "",
  userUrl = "",
}: LoginDocument): CodeProvider & { user: string } {
  return { authorize: authorizeUrl, token: tokenUrl, user: userUrl, namesItself: false, takesBasic: false };
}

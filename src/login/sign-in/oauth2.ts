// Owns signing in at a provider of plain OAuth 2, whose user endpoint says who somebody is: GitHub, GitLab, Discord.
// Refuses to know people by a login or an address: those can be given to another person.

import type { LoginDocument } from "../../tenants/document/tenant-document.ts";
import { beginCode, confirmAt, finishCode, switchPrompt, type CodeProvider } from "./code-flow.ts";
import { awayAt, isRefused, misfitAt } from "./not-signed-in.ts";
import { askUser } from "./provider-requests.ts";
import type { SignedIn, SignIn } from "./sign-in.ts";
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
    return signedInAt(provider.user, personIn(provider, subject, user.body), given.tokens);
  },
  confirm: (visit, tokens, { subject }) => {
    const provider = providerIn(visit.login);
    return confirmAt(visit, provider, tokens, async (access, _given, asked) => {
      const user = asked ?? (await askUser(visit, provider.user, access));
      if (user && user.status !== 200) return "silent";
      return user && subjectIn(user.body) === subject ? personIn(provider, subject, user.body) : undefined;
    });
  },
};

type Said = Readonly<Record<string, unknown>>;

function personIn({ authorize }: CodeProvider, subject: string, said: Said): SignedIn {
  return signedIn(new URL(authorize).origin, subject, { ...said, email_verified: isVerified(said) });
}

/** No standard names it: `verified` is Discord's word, `confirmed_at` GitLab's. Without one of them the address is not verified. */
function isVerified(said: Said): unknown {
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

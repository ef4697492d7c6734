// The page on which a person sees and ends their grants.

import type { LoginContext } from "../login-context.ts";
import { accountPage, signedOutPage } from "../pages/account-page.ts";
import { pageResponse } from "../pages/page.ts";
import { readAccountSession, expireAccountCookie } from "./account-session.ts";
import { redirectTo, errorPageResponse, pageTenantOf } from "./oauth-responses.ts";
import { waitForEnd, getLoginStub } from "./login-stub.ts";
import { beginSignIn, providerTargets } from "./sign-in-steps.ts";
import { isSameOriginForm } from "./transaction.ts";

const SIGNED_OUT = "signed-out";

export async function handleAccount(context: LoginContext): Promise<Response> {
  const session = await readAccountSession(context);
  const form = new URLSearchParams(context.body);
  if (!session) {
    if (new URL(context.request.url).searchParams.has(SIGNED_OUT)) return signedOutResponse(context);
    return beginSignIn(context, null, undefined, form.has("again"));
  }
  const loginStub = getLoginStub(context);
  let notice: string | undefined;
  if (context.request.method === "POST") {
    if (!isSameOriginForm(context) || form.get("nonce") !== session.nonce) {
      return errorPageResponse(context, "The form was sent from another page", "Open the page again.", 403);
    }
    if (form.has("out")) return redirectTo(`${context.urls.account}?${SIGNED_OUT}`, expireAccountCookie(context));
    const actor = { name: session.principal };
    const result = await loginStub.endGrant(form.get("end") ?? "", actor, session.principal);
    await waitForEnd(result);
    notice = result.state === "absent" ? "Access had already ended." : "Access has ended.";
  }
  const grants = await loginStub.grantsOf(session.principal);
  const target = { action: context.urls.account, fields: { nonce: session.nonce } };
  const person = { ...session.person, claims: {} };
  return pageResponse(accountPage({ tenant: pageTenantOf(context), person, grants, form: target, notice }));
}

function signedOutResponse(context: LoginContext): Response {
  const page = signedOutPage(pageTenantOf(context), { action: context.urls.account, fields: {} });
  return pageResponse(page, { formTargets: providerTargets(context) });
}

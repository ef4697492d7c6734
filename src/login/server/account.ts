// Owns the page on which somebody sees and ends what they allowed.

import type { LoginVisit } from "../login-visit.ts";
import { accountPage, signedOutPage } from "../pages/account-page.ts";
import { pageResponse } from "../pages/page.ts";
import { accountOf, closeAccount } from "./account-session.ts";
import { redirectTo, refusePerson, tenantOnPage } from "./answers.ts";
import { untilEnded, loginOf } from "./login-door.ts";
import { beginSignIn, providerTargets } from "./sign-in-steps.ts";
import { isOwnForm } from "./transaction.ts";

const OUT = "signed-out";

export async function account(visit: LoginVisit): Promise<Response> {
  const session = await accountOf(visit);
  const form = new URLSearchParams(visit.body);
  if (!session) {
    if (new URL(visit.request.url).searchParams.has(OUT)) return signedOut(visit);
    return beginSignIn(visit, null, undefined, form.has("again"));
  }
  const tables = loginOf(visit);
  let said: string | undefined;
  if (visit.request.method === "POST") {
    if (!isOwnForm(visit) || form.get("nonce") !== session.nonce) {
      return refusePerson(visit, "The form was sent by another page", "Open the page again.", 403);
    }
    if (form.has("out")) return redirectTo(`${visit.urls.account}?${OUT}`, closeAccount(visit));
    const actor = { name: session.principal };
    const ended = await tables.endGrant(form.get("end") ?? "", actor, session.principal);
    await untilEnded(ended);
    said = ended.state === "absent" ? "It had ended before." : "Access has ended.";
  }
  const grants = await tables.grantsOf(session.principal);
  const target = { action: visit.urls.account, fields: { nonce: session.nonce } };
  const person = { ...session.person, claims: {} };
  return pageResponse(accountPage({ tenant: tenantOnPage(visit), person, grants, form: target, said }));
}

function signedOut(visit: LoginVisit): Response {
  const page = signedOutPage(tenantOnPage(visit), { action: visit.urls.account, fields: {} });
  return pageResponse(page, { formTargets: providerTargets(visit) });
}

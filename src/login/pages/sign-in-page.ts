// The page on which a person pastes a key of the tenant. No page ever shows the key again.

import { markup } from "../../deployment/markup.ts";
import { clientName, type ClientSummary } from "./client-summary.ts";
import { renderForm, renderPage, tenantName, type FormTarget, type PageTenant } from "./page.ts";

export interface SignInView {
  readonly tenant: PageTenant;
  /** The client that asks; absent if the person wants their account page. */
  readonly client?: ClientSummary | undefined;
  readonly form: FormTarget;
  /** Why the previous key was rejected. */
  readonly error?: string | undefined;
}

export function signInPage({ tenant, client, form: target, error }: SignInView): string {
  const name = tenantName(tenant);
  const why = client
    ? markup`Sign in to connect <bdi>${clientName(client)}</bdi> to <bdi>${name}</bdi>.`
    : markup`Sign in to see which clients may use <bdi>${name}</bdi> for you.`;
  const errorMarkup =
    error === undefined ? "" : markup`<div class="note bad" role="alert" id="said"><p>${error}</p></div>`;
  const fields = markup`<label for="key">Your key for <bdi>${name}</bdi></label>
<input id="key" name="key" type="password" autocomplete="off" maxlength="200" required autofocus aria-describedby="said about">
<small id="about">It begins with tnt_. Ask the person who gave you the address of ${name}.</small>
<p class="act"><button class="go">Sign in</button></p>`;
  const title = error === undefined ? "Sign in" : "Sign in again";
  return renderPage({ tenant, title, body: markup`<p>${why}</p>${errorMarkup}${renderForm(target, fields)}` });
}

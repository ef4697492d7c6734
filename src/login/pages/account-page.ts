// The page on which a person sees which clients may use a tenant for them, and ends their access.

import { markup, type Markup } from "../../deployment/markup.ts";
import type { Grant } from "../server/login-records.ts";
import type { ProviderIdentity } from "../sign-in/identity-provider-client.ts";
import { sanitizeText } from "./sanitize-text.ts";
import { renderForm, renderPage, tenantName, type FormTarget, type PageTenant } from "./page.ts";
import { clientName, personName } from "./client-summary.ts";

export type GrantSummary = Pick<Grant, "id" | "client" | "profile" | "scopes" | "narrowing" | "created" | "usedAt">;

export interface AccountView {
  readonly tenant: PageTenant;
  readonly person: ProviderIdentity;
  readonly grants: readonly GrantSummary[];
  /** Sent with every action: `end` with the id of a grant, or `out`. */
  readonly form: FormTarget;
  /** The result of the last action. */
  readonly notice?: string | undefined;
}

export function accountPage({ tenant, person, grants, form: target, notice }: AccountView): string {
  const name = tenantName(tenant);
  const signOut = markup`<p>Signed in as <bdi>${personName(person)}</bdi> <button class="link" name="out" value="1">Sign out</button></p>`;
  const cards = grants.map((grant) => grantCard(grant, target));
  const list =
    cards.length === 0
      ? markup`<p>No client has access to <bdi>${name}</bdi> on your behalf. Clients that you connect are listed here.</p>`
      : cards;
  const body = markup`${notice === undefined ? "" : markup`<p class="card" role="status">${notice}</p>`}${renderForm(target, signOut)}${list}`;
  return renderPage({ tenant, title: "Clients with access", body });
}

/** `target`: the form to sign in again. */
export function signedOutPage(tenant: PageTenant, target: FormTarget): string {
  const again = markup`<p class="act"><button class="go" name="again" value="1">Sign in again</button></p>`;
  return renderPage({ tenant, title: "You are signed out", body: renderForm(target, again) });
}

function grantCard(grant: GrantSummary, target: FormTarget): Markup {
  const { id, client, created, usedAt } = grant;
  const label = clientName(client);
  const end = markup`<button name="end" value="${id}" aria-label="End access of ${label}">End access</button>`;
  return markup`<div class="card"><h2><bdi>${label}</bdi></h2>${URL.canParse(client.id) ? markup`<small>${client.id}</small>` : ""}
<dl><dt>May use</dt><dd>${permissionsOf(grant)}</dd><dt>Since</dt><dd>${day(created)}</dd><dt>Last used</dt><dd>${day(usedAt)}</dd></dl>
${renderForm(target, end)}</div>`;
}

/** The grant's permissions in words. The endpoint's profile and the person's own rights limit it too. */
function permissionsOf({ narrowing: { deny, allow, toolsOnly }, profile, scopes }: GrantSummary): string {
  const limitedTools = allow?.length === 0 ? "No tools" : allow && `Only ${namesOf(allow)}`;
  const tools = limitedTools ?? `All tools${deny.length > 0 ? ` but ${namesOf(deny)}` : ""}`;
  const permissions = `${tools}; ${toolsOnly ? "no prompts or resources" : "prompts and resources"}`;
  const limits = [...(profile === null ? [] : [`profile ${profile}`]), ...(scopes ?? [])];
  return limits.length === 0 ? permissions : `${permissions} (${limits.join(", ")})`;
}

const namesOf = (names: readonly string[]) => names.map((name) => sanitizeText(name)).join(", ");

function day(at: number): Markup {
  return markup`<time>${new Date(at).toISOString().slice(0, 10)}</time>`;
}

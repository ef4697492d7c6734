// Owns the page on which a person sees which clients may use a tenant for them, and ends that.

import { markup, type Markup } from "../../deployment/markup.ts";
import type { Grant } from "../server/login-records.ts";
import type { SignedIn } from "../sign-in/sign-in.ts";
import { harmless } from "./harmless.ts";
import { form, page, tenantName, type FormTarget, type PageTenant } from "./page.ts";
import { clientName, personName } from "./shown-client.ts";

export type ShownGrant = Pick<Grant, "id" | "client" | "profile" | "scopes" | "narrowing" | "created" | "usedAt">;

export interface AccountView {
  readonly tenant: PageTenant;
  readonly person: SignedIn;
  readonly grants: readonly ShownGrant[];
  /** Its fields go with whatever is asked: `end`, the id of a grant, or `out`. */
  readonly form: FormTarget;
  /** What has just been done. */
  readonly said?: string | undefined;
}

export function accountPage({ tenant, person, grants, form: target, said }: AccountView): string {
  const name = tenantName(tenant);
  const out = markup`<p>Signed in as <bdi>${personName(person)}</bdi> <button class="link" name="out" value="1">Sign out</button></p>`;
  const cards = grants.map((grant) => card(grant, target));
  const list =
    cards.length === 0
      ? markup`<p>No client may use <bdi>${name}</bdi> for you. One that you connect will be listed here.</p>`
      : cards;
  const body = markup`${said === undefined ? "" : markup`<p class="card" role="status">${said}</p>`}${form(target, out)}${list}`;
  return page({ tenant, title: "Clients with access", body });
}

/** `target`: where they sign in again. */
export function signedOutPage(tenant: PageTenant, target: FormTarget): string {
  const again = markup`<p class="act"><button class="go" name="again" value="1">Sign in again</button></p>`;
  return page({ tenant, title: "You are signed out", body: form(target, again) });
}

function card(grant: ShownGrant, target: FormTarget): Markup {
  const { id, client, created, usedAt } = grant;
  const shown = clientName(client);
  const end = markup`<button name="end" value="${id}" aria-label="End access of ${shown}">End access</button>`;
  return markup`<div class="card"><h2><bdi>${shown}</bdi></h2>${URL.canParse(client.id) ? markup`<small>${client.id}</small>` : ""}
<dl><dt>May use</dt><dd>${extentOf(grant)}</dd><dt>Since</dt><dd>${day(created)}</dd><dt>Last used</dt><dd>${day(usedAt)}</dd></dl>
${form(target, end)}</div>`;
}

/** What it may, in words; the endpoint's profile and the person's own rights limit it too. */
function extentOf({ narrowing: { deny, allow, toolsOnly }, profile, scopes }: ShownGrant): string {
  const some = allow?.length === 0 ? "No tools" : allow && `Only ${namesOf(allow)}`;
  const tools = some ?? `All tools${deny.length > 0 ? ` but ${namesOf(deny)}` : ""}`;
  const all = `${tools}; ${toolsOnly ? "no prompts or resources" : "prompts and resources"}`;
  const within = [...(profile === null ? [] : [`profile ${profile}`]), ...(scopes ?? [])];
  return within.length === 0 ? all : `${all} (${within.join(", ")})`;
}

const namesOf = (names: readonly string[]) => names.map((name) => harmless(name)).join(", ");

function day(at: number): Markup {
  return markup`<time>${new Date(at).toISOString().slice(0, 10)}</time>`;
}

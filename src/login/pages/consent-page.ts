// The page on which a person decides what a client may do for them, and the parser of its form. Other parties choose
// every name on it, so the page shows whose it is.

import type { ToolRestrictions } from "../../auth/principal.ts";
import { markup, type Markup } from "../../deployment/markup.ts";
import type { ProviderIdentity } from "../sign-in/identity-provider-client.ts";
import { sanitizeText } from "./sanitize-text.ts";
import { renderForm, renderPage, tenantName, type FormTarget, type PageTenant } from "./page.ts";
import { clientName, personName, describeRedirect, publisherHostOf, type ClientSummary } from "./client-summary.ts";

export interface ConsentTool {
  readonly name: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  /** The upstream of the tool; absent for the tenant's own tools. */
  readonly group?: string | undefined;
}

export interface ConsentView {
  readonly tenant: PageTenant;
  readonly client: ClientSummary;
  /** The client's redirect URI. */
  readonly redirect: string;
  readonly person: ProviderIdentity;
  readonly profile?: string | null;
  /** null: no limit on the person. */
  readonly scopes: readonly { readonly name: string; readonly description?: string | undefined }[] | null;
  readonly tools: readonly ConsentTool[];
  readonly form: FormTarget;
  /** The URL of the account page, on which grants can be ended. */
  readonly account: string;
  /** Why the page is shown again. */
  readonly again?: string | undefined;
}

export type ConsentDecision = "allow" | "deny" | "switch";

/** The person's decision; undefined if the form is invalid. `switch`: another person wants to sign in. */
export function parseDecision(answer: URLSearchParams): ConsentDecision | undefined {
  return (["allow", "deny", "switch"] as const).find((one) => one === answer.get("decision"));
}

/** The shown tools that the person unchecked. */
export function parseRestrictions(answer: URLSearchParams, toolNames: readonly string[]): ToolRestrictions {
  const checked = new Set(answer.getAll("tool"));
  const deny = toolNames.filter((name) => !checked.has(name));
  const laterTools = answer.has("later") ? {} : { allow: toolNames.filter((name) => checked.has(name)) };
  return { deny, ...laterTools, ...(!answer.has("read") && { toolsOnly: true }) };
}

export function consentPage(view: ConsentView): string {
  const { tenant, client, again, scopes, tools } = view;
  if (scopes?.length === 0 && tools.length === 0) return noAccessPage(view);
  const name = tenantName(tenant);
  const notice = again === undefined ? "" : markup`<div class="note" role="alert"><p>${again}</p></div>`;
  const fields = markup`${requestDetails(view)}${scopeList(view)}${toolList(view)}
<p><small>You can end this at any time: ${view.account}</small></p>
<p class="act"><button class="go" name="decision" value="allow">Allow</button><button name="decision" value="deny">Cancel</button></p>`;
  // Enter presses a form's first button, even from a checkbox, and must not allow anything. Outside of a dialog, this
  // button does nothing.
  const first = markup`<button hidden formmethod="dialog"></button>${fields}`;
  const label = clientName(client);
  return renderPage({
    tenant,
    title: `Allow ${label}?`,
    heading: markup`Allow <bdi>${label}</bdi> to use <bdi>${name}</bdi>?`,
    body: markup`${notice}${renderForm(view.form, first)}`,
  });
}

/** There is nothing to allow, and a client without any tool would not say why. */
function noAccessPage({ tenant, person, form: target }: ConsentView): string {
  const heading = markup`<bdi>${personName(person)}</bdi> has no access to <bdi>${tenantName(tenant)}</bdi>`;
  const fields = markup`<p>Ask the person who gave you its address.</p>
<p class="act"><button class="go" name="decision" value="switch">Use another account</button><button name="decision" value="deny">Cancel</button></p>`;
  return renderPage({ tenant, title: "No access", heading: heading, body: renderForm(target, fields) });
}

/** The client, its destination, and how far its name can be trusted. */
function requestDetails({ client, redirect, profile, person }: ConsentView): Markup {
  const name = clientName(client);
  const host = publisherHostOf(client);
  const [isLoopback, destination] = describeRedirect(redirect);
  const localWarning = isLoopback
    ? markup`<p>Any program on this computer can send this request, under any name.</p>`
    : "";
  const nameWarning =
    host === undefined ? markup`<p>The name <bdi>${name}</bdi> is not checked: the client chose it itself.</p>` : "";
  const warning = markup`<div class="note">${nameWarning}${localWarning}<p>Allow it only if you have just started to connect it yourself.</p></div>`;
  return markup`<dl>
<dt>Client</dt><dd><bdi>${name}</bdi>${host === undefined ? "" : `, published by ${host}`}</dd>
<dt>Sends you to</dt><dd>${destination}</dd>${profile == null ? "" : markup`<dt>Profile</dt><dd>${profile}</dd>`}
<dt>Signed in as</dt><dd><bdi>${personName(person)}</bdi> <button class="link" name="decision" value="switch">Not you?</button></dd>
</dl>${nameWarning || localWarning ? warning : ""}`;
}

function scopeList({ scopes }: ConsentView): Markup | string {
  if (!scopes || scopes.length === 0) return "";
  const rows = scopes.map(
    ({ name, description = "" }) => markup`<dt>${name}</dt><dd><bdi>${sanitizeText(description, 140)}</bdi></dd>`,
  );
  return markup`<h2>Within your rights</h2><dl>${rows}</dl>`;
}

function toolList({ tools, tenant }: ConsentView): Markup {
  if (tools.length === 0) return markup`<p>You have access to no tool here. ${EXTRA_OPTIONS}</p>`;
  const groups = Map.groupBy(tools, ({ group }) => group);
  const lists = [...groups].map(([group, groupTools]) => {
    const title = group ?? tenantName(tenant);
    return markup`${groups.size > 1 ? markup`<h3><bdi>${title}</bdi></h3>` : ""}${groupTools.map(toolRow)}`;
  });
  return markup`<fieldset><legend>What it may use for you: ${tools.length === 1 ? "1 tool" : `${tools.length} tools`}</legend>
<small>Uncheck anything you don't want to allow.</small>
<div class="list">${lists}</div>
${EXTRA_OPTIONS}</fieldset>`;
}

const EXTRA_OPTIONS = markup`<label class="row"><input type="checkbox" name="later" checked><span>Also tools that are added later</span></label>
<label class="row"><input type="checkbox" name="read" checked><span>Also read prompts and resources</span></label>`;

function toolRow({ name, title = "", description = "" }: ConsentTool): Markup {
  const label = sanitizeText(title) || name;
  return markup`<label class="row"><input type="checkbox" name="tool" value="${name}" checked><span><bdi>${label}</bdi>${label === name ? "" : markup` <code>${name}</code>`}<small><bdi>${sanitizeText(description, 140)}</bdi></small></span></label>`;
}

// Owns the steps on which a person meets a tenant's authorization server, from a client's request to its answer: signing in,
// then deciding. Refuses whatever another browser, another page or another tenant has begun.

import { hashToken } from "../../auth/api-key.ts";
import { keyPrincipalId, type Narrowing } from "../../auth/principal.ts";
import { digest } from "../../auth/seal.ts";
import type { View } from "../../content/serve/view.ts";
import type { TenantDocument } from "../../tenants/document/tenant-document.ts";
import type { LoginVisit } from "../login-visit.ts";
import { consentPage, decisionOf, narrowingOf, type ConsentTool } from "../pages/consent-page.ts";
import { formTarget, pageResponse } from "../pages/page.ts";
import { signInPage } from "../pages/sign-in-page.ts";
import type { NotSignedIn, SignedIn, SignedInWith } from "../sign-in/sign-in.ts";
import { WAYS } from "../sign-in/ways.ts";
import { openAccount } from "./account-session.ts";
import { AGAIN, OVER, redirectTo, refusePerson, tenantOnPage } from "./answers.ts";
import { answerTo, readAuthorize } from "./authorize.ts";
import { findClient, waitOf } from "./find-client.ts";
import { shownPerson, theirScopes, within } from "./grant-bearer.ts";
import { loginOf } from "./login-door.ts";
import type { LoginClient } from "./login-records.ts";
import { isLoopbackRedirect, mayRedirect } from "./redirects.ts";
import { sealProvider } from "./provider-seal.ts";
import {
  beginCookie,
  endCookie,
  endOldest,
  isOwnForm,
  newNonce,
  openFor,
  sealFor,
  transactionOf,
  type AuthorizeRequest,
  type Deciding,
  type Transaction,
} from "./transaction.ts";

const HOUR_MS = 3_600_000;
const SIGN_IN_HOURS = 168;

export async function beginAuthorize(visit: LoginVisit): Promise<Response> {
  const asked = await readAuthorize(visit, new URL(visit.request.url).searchParams);
  if (asked.kind === "wrong") return refusePerson(visit, asked.why);
  if (asked.kind === "asked") return beginSignIn(visit, asked.request, asked.client);
  return answerUnseen(visit, asked, asked);
}

/**
 * Before anybody was asked anything: who sends a link around that names this host has it lead to no page of their own.
 * https://datatracker.ietf.org/doc/html/rfc9700#section-4.11.2
 */
function answerUnseen(
  visit: LoginVisit,
  request: Pick<AuthorizeRequest, "redirect" | "state">,
  { error, why, next }: Pick<NotSignedIn, "why"> & { readonly error: string; readonly next?: string },
): Response {
  const isWeb = request.redirect.startsWith("https:") && !isLoopbackRedirect(request.redirect);
  if (isWeb && !visit.login.clients) return refusePerson(visit, why, next);
  return redirectTo(answerTo(visit, request, { error, error_description: why }));
}

/** `request` null: for the page of grants. `isSwitch`: whoever has a session at the provider is not meant. */
export async function beginSignIn(
  visit: LoginVisit,
  request: AuthorizeRequest | null,
  client?: LoginClient,
  isSwitch = false,
): Promise<Response> {
  const nonce = newNonce();
  const begun = await WAYS[visit.login.via]?.begin?.(visit, nonce, isSwitch);
  if (begun?.kind === "notSignedIn") {
    const { error, why, next } = begun;
    return request && error ? answerUnseen(visit, request, { error, why, next }) : refusePerson(visit, why, next, 403);
  }
  const cookie = await beginCookie(visit, { nonce, request, kept: begun?.kept ?? {} });
  if (cookie === undefined) return refusePerson(visit, "The client sent too much");
  const cookies = [...endOldest(visit), cookie];
  if (begun) return redirectTo(begun.location, ...cookies);
  const page = signInPage({ tenant: tenantOnPage(visit), client, form: signInForm(visit, nonce) });
  return pageResponse(page, { headers: cookies.map((one) => ["set-cookie", one]) });
}

function signInForm({ urls }: LoginVisit, nonce: string) {
  return { action: `${urls.issuer}/sign-in`, fields: { state: nonce } };
}

/** The form of our own page, or what a provider sends the browser back with. */
export async function finishSignIn(visit: LoginVisit): Promise<Response> {
  const isForm = visit.request.method === "POST";
  if (isForm && !isOwnForm(visit)) return refusePerson(visit, "The form was sent by another page", AGAIN, 403);
  const answer = isForm ? new URLSearchParams(visit.body) : new URL(visit.request.url).searchParams;
  const transaction = await transactionOf(visit, answer.get("state") ?? "");
  const way = WAYS[visit.login.via];
  // Keys come by our form alone: a URL is in histories and logs.
  if (!transaction || !way || isForm === (way.begin !== undefined)) return refusePerson(visit, OVER);
  const signed = await way.finish(visit, answer, transaction.kept);
  if (signed.kind === "notSignedIn") {
    return way.begin ? notSignedIn(visit, transaction, signed) : signInAgain(visit, transaction, signed);
  }
  const { request } = transaction;
  if (request === null)
    return openAccount(visit, transaction.nonce, { person: signed.person, principal: principalOf(signed.person) });
  return askConsent(visit, { ...transaction, request }, signed);
}

/** On the same page: a slip of the hand is no reason to begin anew. */
async function signInAgain(visit: LoginVisit, { nonce, request }: Transaction, said: NotSignedIn): Promise<Response> {
  const found = request === null ? undefined : await findClient(visit, request.client);
  const client = found?.kind === "clientRefusal" ? undefined : found;
  const error = `${said.why}. ${said.next}.`;
  const page = signInPage({ tenant: tenantOnPage(visit), client, form: signInForm(visit, nonce), error });
  return pageResponse(page, { status: 400 });
}

function notSignedIn(visit: LoginVisit, { nonce, request }: Transaction, { why, next, error }: NotSignedIn): Response {
  if (request === null || error === undefined) return refusePerson(visit, why, next, 403);
  return redirectTo(answerTo(visit, request, { error, error_description: why }), endCookie(visit, nonce));
}

/** The same as where they come with a token of the issuer. */
export function principalOf({ issuer, subject }: SignedIn): string {
  return issuer === "key" ? keyPrincipalId(subject) : `oauth ${issuer} ${subject}`;
}

/** As it is now: an address that it has given up since it asked is sent no code. */
async function clientOf(visit: LoginVisit, request: AuthorizeRequest): ReturnType<typeof findClient> {
  const client = await findClient(visit, request.client);
  if (client.kind === "clientRefusal" || mayRedirect(client, request.redirect)) return client;
  return { kind: "clientRefusal", why: "The client has changed the address at which it is answered" };
}

type Asking = Transaction & { readonly request: AuthorizeRequest };

interface ShownTool extends ConsentTool {
  /** What a profile calls it, else what its source does: a grant has no name that was only changed for clients. */
  readonly policyName: string;
  /** What it is called where it comes from, whatever a profile calls it. */
  readonly source: string;
}

interface Extent {
  /** undefined: nothing limits the person. */
  readonly scopes: readonly string[] | undefined;
  readonly tools: readonly ShownTool[];
  readonly digest: string;
}

/** What the person could let the client use; a text: why nothing. */
async function extentOf(
  visit: LoginVisit,
  request: AuthorizeRequest,
  { client, signed }: { readonly client: LoginClient; readonly signed: SignedInWith },
): Promise<Extent | string> {
  const { login } = visit;
  const { person, keyHash } = signed;
  const key = keyHash === undefined ? undefined : await loginOf(visit).pasted(keyHash);
  if (key === null) return "The key has ended";
  if (key && key.profile !== null && key.profile !== request.profile) return "The key belongs to another profile";
  const scopes = within(request.scopes, theirScopes(login, person, key));
  const { tools } = await visit.viewOf(request.profile, {
    ...shownPerson(principalOf(person), person, login.claims),
    scopes,
  });
  const shown = tools.map((tool) => toolOf(tool, visit.ground.document));
  return { scopes, tools: shown, digest: await digest(JSON.stringify([client.digest, shown])) };
}

function toolOf({ wire, target }: View["tools"][number], { upstreams = {} }: TenantDocument): ShownTool {
  const { name, title, description } = wire as ConsentTool;
  const { name: source, listedName } = target;
  const policyName = name === listedName ? source : name;
  const [id = ""] = name.split("__");
  return { name, policyName, source, title, description, group: Object.hasOwn(upstreams, id) ? id : undefined };
}

async function askConsent(
  visit: LoginVisit,
  { request, nonce }: Asking,
  signed: SignedInWith,
  again?: string,
): Promise<Response> {
  const client = await clientOf(visit, request);
  if (client.kind === "clientRefusal") return refusePerson(visit, client.why);
  const extent = await extentOf(visit, request, { client, signed });
  if (typeof extent === "string") return refusePerson(visit, extent, AGAIN, 403);
  const { redirect, profile } = request;
  const deciding: Deciding = { nonce, signed, shown: extent.digest };
  const page = consentPage({
    tenant: tenantOnPage(visit),
    client,
    redirect,
    profile,
    person: signed.person,
    scopes: extent.scopes?.map((name) => ({ name, ...visit.ground.document.scopes?.[name] })) ?? null,
    tools: extent.tools,
    form: { action: `${visit.urls.issuer}/consent`, fields: { deciding: await sealFor(visit, "consent", deciding) } },
    account: visit.urls.account,
    again,
  });
  return pageResponse(page, { formTargets: [formTarget(redirect), ...providerTargets(visit)] });
}

/** Of a form that leads to the provider, which may lead on to any place of the web. */
export function providerTargets({ login }: LoginVisit): string[] {
  return WAYS[login.via].begin ? ["https: http:"] : [];
}

/** What the person decided. */
export async function consent(visit: LoginVisit): Promise<Response> {
  if (!isOwnForm(visit)) return refusePerson(visit, "The form was sent by another page", AGAIN, 403);
  const answer = new URLSearchParams(visit.body);
  const deciding = await openFor<Deciding>(visit, "consent", answer.get("deciding") ?? "");
  const transaction = deciding && (await transactionOf(visit, deciding.nonce));
  if (!deciding || !transaction?.request) return refusePerson(visit, OVER);
  const asking = { ...transaction, request: transaction.request };
  const { request } = asking;
  const decision = decisionOf(answer);
  if (decision === "allow") return allow(visit, asking, deciding, answer);
  if (decision === "switch") return authorizeAgain(visit, asking);
  const denied = { error: "access_denied", error_description: "The person did not allow it" };
  return redirectTo(answerTo(visit, request, denied), endCookie(visit, asking.nonce));
}

async function authorizeAgain(visit: LoginVisit, { request, nonce }: Asking): Promise<Response> {
  const client = await clientOf(visit, request);
  if (client.kind === "clientRefusal") return refusePerson(visit, client.why);
  const again = await beginSignIn(visit, request, client, true);
  // Who comes after does not go back to the page of who was there before.
  again.headers.append("set-cookie", endCookie(visit, nonce));
  return again;
}

/** What was left out stays so under the name that it has when no profile gives it another any more. */
function narrowedBy(answer: URLSearchParams, tools: readonly ShownTool[]): Narrowing {
  const names = tools.map(({ name }) => name);
  const { deny, allow: only, toolsOnly } = narrowingOf(answer, names);
  const shown = (some: readonly string[]) => tools.filter(({ name }) => some.includes(name));
  return {
    deny: [...new Set(shown(deny).flatMap(({ policyName, source }) => [policyName, source]))],
    ...(only && { allow: shown(only).map(({ policyName }) => policyName) }),
    ...(toolsOnly && { toolsOnly }),
  };
}

async function allow(
  visit: LoginVisit,
  asking: Asking,
  { signed, shown }: Deciding,
  answer: URLSearchParams,
): Promise<Response> {
  const { request, nonce } = asking;
  const { urls, login } = visit;
  const client = await clientOf(visit, request);
  if (client.kind === "clientRefusal") return refusePerson(visit, client.why);
  const extent = await extentOf(visit, request, { client, signed });
  if (typeof extent === "string") return refusePerson(visit, extent, AGAIN, 403);
  if (extent.digest !== shown) {
    return askConsent(visit, asking, signed, "What there is has changed meanwhile. Look at it once more.");
  }
  const principal = principalOf(signed.person);
  // Each is a line of the audit log, which people shall not fill.
  if (waitOf({ ...visit, address: principal }, "allow") !== undefined) {
    return refusePerson(visit, "You have allowed too much within a minute", "Wait a minute, then try again.", 429);
  }
  const id = newNonce();
  const code = newNonce() + newNonce();
  const { resource, profile, redirect, challenge } = request;
  const added = await loginOf(visit).addGrant(
    {
      id,
      client: { id: client.id, name: client.name, digest: client.digest },
      principal,
      person: signed.person,
      home: urls.issuer,
      provider: signed.provider ? await sealProvider(visit.ground, id, signed.provider) : null,
      keyHash: signed.keyHash ?? null,
      resource,
      profile,
      scopes: request.scopes,
      offline: request.offline,
      narrowing: narrowedBy(answer, extent.tools),
      expires: Date.now() + (login.signInHours ?? SIGN_IN_HOURS) * HOUR_MS,
    },
    { hash: await hashToken(code), redirect, challenge },
  );
  const error = { error: "temporarily_unavailable", error_description: "The tenant has no room for more" };
  return redirectTo(answerTo(visit, request, added === "added" ? { code } : error), endCookie(visit, nonce));
}

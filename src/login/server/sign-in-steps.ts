// Owns the steps on which a person meets a tenant's authorization server, from a client's request to its answer: signing in,
// then deciding. Each page has an address at which it can be loaded again. Refuses whatever another browser, another page or
// another tenant has begun.

import { hashToken } from "../../auth/api-key.ts";
import { keyPrincipalId, type Narrowing } from "../../auth/principal.ts";
import { digest } from "../../auth/seal.ts";
import type { View } from "../../content/serve/view.ts";
import type { TenantDocument } from "../../tenants/document/tenant-document.ts";
import type { LoginVisit } from "../login-visit.ts";
import { consentPage, decisionOf, narrowingOf, type ConsentTool } from "../pages/consent-page.ts";
import { formTarget, pageResponse } from "../pages/page.ts";
import { refusalPage } from "../pages/refusal-page.ts";
import { signInPage } from "../pages/sign-in-page.ts";
import { NO_KEY } from "../sign-in/paste-key.ts";
import type { NotSignedIn, SignedIn } from "../sign-in/sign-in.ts";
import { WAYS } from "../sign-in/ways.ts";
import { openAccount } from "./account-session.ts";
import { AGAIN, OVER, redirectTo, refusePerson, tenantOnPage } from "./answers.ts";
import { answerTo, readAuthorize } from "./authorize.ts";
import { findClient, waitOf } from "./find-client.ts";
import { shownPerson, theirScopes, within } from "./grant-bearer.ts";
import { loginOf } from "./login-door.ts";
import type { LoginClient, SignInRecord } from "./login-records.ts";
import { isLoopbackRedirect, mayRedirect } from "./client-metadata.ts";
import { openProvider, sealProvider } from "./provider-seal.ts";
import {
  beginCookie,
  endCookie,
  endOldest,
  isOwnForm,
  newNonce,
  TAKES_MS,
  transactionOf,
  type AuthorizeRequest,
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
  return { action: `${urls.issuer}/sign-in?state=${nonce}`, fields: { state: nonce } };
}

/** The form of our own page, or what a provider sends the browser back with. */
export async function finishSignIn(visit: LoginVisit): Promise<Response> {
  const isForm = visit.request.method === "POST";
  if (isForm && !isOwnForm(visit)) return refusePerson(visit, "The form was sent by another page", AGAIN, 403);
  const answer = isForm ? new URLSearchParams(visit.body) : new URL(visit.request.url).searchParams;
  const state = answer.get("state") ?? "";
  const transaction = await transactionOf(visit, state);
  const way = WAYS[visit.login.via];
  // Keys come by our form alone: a URL is in histories and logs.
  if (!transaction || !way || isForm === (way.begin !== undefined)) return refusePerson(visit, OVER);
  const signed = await way.finish(visit, answer, transaction.kept);
  if (signed.kind === "notSignedIn") {
    // The provider's answer is good once, and its page was loaded again.
    if (way.begin && !signed.error && (await decidingOf(visit, state))) return stepTo(visit, "consent", { state });
    return way.begin ? notSignedIn(visit, transaction, signed) : stepTo(visit, "sign-in", { state, [WRONG]: "" });
  }
  const { request, nonce } = transaction;
  const principal = principalOf(signed.person);
  if (request === null) return openAccount(visit, nonce, { person: signed.person, principal });
  const provider = signed.provider ? await sealProvider(visit.ground, nonce, signed.provider) : null;
  const record = { principal, person: signed.person, provider, keyHash: signed.keyHash ?? null };
  const added = await loginOf(visit).addSignIn(nonce, record, Date.now() + TAKES_MS);
  if (added === "added") return stepTo(visit, "consent", { state });
  return redirectTo(answerTo(visit, request, NO_ROOM), endCookie(visit, nonce));
}

const WAIT = "Wait a minute, then try again.";
const NO_ROOM = { error: "temporarily_unavailable", error_description: "The tenant has no room for more" };
/** In the query of a page: the key that was pasted is none of the tenant's. */
const WRONG = "wrong";
/** In the query of a page: what it showed is no more what there is. */
const CHANGED = "changed";

/** What a person loads again is a page, and no form that is sent once more. */
function stepTo({ urls }: LoginVisit, step: "sign-in" | "consent", query: Readonly<Record<string, string>>): Response {
  return redirectTo(`${urls.issuer}/${step}?${new URLSearchParams(query).toString()}`);
}

/** Where the key that was pasted is none: a slip of the hand is no reason to begin anew. */
export async function showSignIn(visit: LoginVisit): Promise<Response> {
  const { searchParams } = new URL(visit.request.url);
  const transaction = await transactionOf(visit, searchParams.get("state") ?? "");
  if (!transaction || WAYS[visit.login.via]?.begin) return refusePerson(visit, OVER);
  const { nonce, request } = transaction;
  const found = request === null ? undefined : await findClient(visit, request.client);
  const client = found?.kind === "clientRefusal" ? undefined : found;
  const error = searchParams.has(WRONG) ? `${NO_KEY.why}. ${NO_KEY.next}.` : undefined;
  const page = signInPage({ tenant: tenantOnPage(visit), client, form: signInForm(visit, nonce), error });
  return pageResponse(page, { status: error === undefined ? 200 : 400 });
}

function notSignedIn(visit: LoginVisit, { nonce, request }: Transaction, { why, next, error }: NotSignedIn): Response {
  if (request === null || error === undefined) return refusePerson(visit, why, next, 403);
  return redirectTo(answerTo(visit, request, { error, error_description: why }), endCookie(visit, nonce));
}

/** The same as where they come with a token of the issuer. */
function principalOf({ issuer, subject }: SignedIn): string {
  return issuer === "key" ? keyPrincipalId(subject) : `oauth ${issuer} ${subject}`;
}

/** As it is now: an address that it has given up since it asked is sent no code. */
async function clientOf(visit: LoginVisit, request: AuthorizeRequest): ReturnType<typeof findClient> {
  const client = await findClient(visit, request.client);
  if (client.kind === "clientRefusal" || mayRedirect(client, request.redirect)) return client;
  return { kind: "clientRefusal", why: "The client has changed the address at which it is answered" };
}

/** Somebody who signed in and has yet to decide. */
interface Deciding {
  readonly nonce: string;
  readonly request: AuthorizeRequest;
  readonly signed: SignInRecord;
}

/** undefined: there is nothing that this browser has to decide under that name, or no more. */
async function decidingOf(visit: LoginVisit, state: string | null): Promise<Deciding | undefined> {
  const transaction = await transactionOf(visit, state ?? "");
  if (!transaction?.request) return undefined;
  const { nonce, request } = transaction;
  const signed = await loginOf(visit).signIn(nonce);
  return signed ? { nonce, request, signed } : undefined;
}

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
  /** Of all that the page shows: who signs in a second time, in another tab, has not decided for the first. */
  readonly digest: string;
}

/** What the person could let the client use; a text: why nothing. */
async function extentOf(
  visit: LoginVisit,
  { request, signed }: Deciding,
  client: LoginClient,
): Promise<Extent | string> {
  const { login } = visit;
  const { person, keyHash } = signed;
  const key = keyHash === null ? undefined : await loginOf(visit).pasted(keyHash);
  if (key === null) return "The key has ended";
  if (key && key.profile !== null && key.profile !== request.profile) return "The key belongs to another profile";
  const scopes = within(request.scopes, theirScopes(login, person, key));
  const { tools } = await visit.viewOf(request.profile, {
    ...shownPerson(signed.principal, person, login.claims),
    scopes,
  });
  const shown = tools.map((tool) => toolOf(tool, visit.ground.document));
  return { scopes, tools: shown, digest: await digest(JSON.stringify([client.digest, signed.principal, shown])) };
}

function toolOf({ wire, target }: View["tools"][number], { upstreams = {} }: TenantDocument): ShownTool {
  const { name, title, description } = wire as ConsentTool;
  const { name: source, listedName } = target;
  const policyName = name === listedName ? source : name;
  const [id = ""] = name.split("__");
  return { name, policyName, source, title, description, group: Object.hasOwn(upstreams, id) ? id : undefined };
}

export async function showConsent(visit: LoginVisit): Promise<Response> {
  const { searchParams } = new URL(visit.request.url);
  const deciding = await decidingOf(visit, searchParams.get("state"));
  if (!deciding) return nothingLeft(visit);
  // It has every tool on it.
  if (waitOf({ ...visit, address: deciding.signed.principal }, "consent") !== undefined) {
    return refusePerson(visit, "You have asked for this page too often within a minute", WAIT, 429);
  }
  const { request, signed, nonce } = deciding;
  const client = await clientOf(visit, request);
  if (client.kind === "clientRefusal") return refusePerson(visit, client.why);
  const extent = await extentOf(visit, deciding, client);
  if (typeof extent === "string") return refusePerson(visit, extent, AGAIN, 403);
  const { redirect, profile } = request;
  const page = consentPage({
    tenant: tenantOnPage(visit),
    client,
    redirect,
    profile,
    person: signed.person,
    scopes: extent.scopes?.map((name) => ({ name, ...visit.ground.document.scopes?.[name] })) ?? null,
    tools: extent.tools,
    form: { action: `${visit.urls.issuer}/consent?state=${nonce}`, fields: { state: nonce, shown: extent.digest } },
    account: visit.urls.account,
    again: searchParams.has(CHANGED) ? "What there is has changed meanwhile. Look at it once more." : undefined,
  });
  return pageResponse(page, { formTargets: [formTarget(redirect), ...providerTargets(visit)] });
}

/** Also for whoever goes back to the page after they decided. */
function nothingLeft(visit: LoginVisit): Response {
  const why = "You have decided already, or it took too long. You can close this page.";
  const page = refusalPage({ tenant: tenantOnPage(visit), title: "Nothing left to decide", why, next: AGAIN });
  return pageResponse(page, { status: 410 });
}

/** Of a form that leads to the provider, which may lead on to any place of the web. */
export function providerTargets({ login }: LoginVisit): string[] {
  return WAYS[login.via].begin ? ["https: http:"] : [];
}

/** What the person decided. */
export async function consent(visit: LoginVisit): Promise<Response> {
  if (!isOwnForm(visit)) return refusePerson(visit, "The form was sent by another page", AGAIN, 403);
  const answer = new URLSearchParams(visit.body);
  const deciding = await decidingOf(visit, answer.get("state"));
  if (!deciding) return refusePerson(visit, OVER);
  const decision = decisionOf(answer);
  if (decision === "allow") return allow(visit, deciding, answer);
  if (decision === "switch") return authorizeAgain(visit, deciding);
  const denied = { error: "access_denied", error_description: "The person did not allow it" };
  return redirectTo(answerTo(visit, deciding.request, denied), endCookie(visit, deciding.nonce));
}

async function authorizeAgain(visit: LoginVisit, { request, nonce }: Deciding): Promise<Response> {
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

async function allow(visit: LoginVisit, deciding: Deciding, answer: URLSearchParams): Promise<Response> {
  const { request, nonce, signed } = deciding;
  const { principal } = signed;
  const { urls, login, ground } = visit;
  const client = await clientOf(visit, request);
  if (client.kind === "clientRefusal") return refusePerson(visit, client.why);
  const extent = await extentOf(visit, deciding, client);
  if (typeof extent === "string") return refusePerson(visit, extent, AGAIN, 403);
  if (extent.digest !== answer.get("shown")) return stepTo(visit, "consent", { state: nonce, [CHANGED]: "" });
  // Each is a line of the audit log, which people shall not fill.
  if (waitOf({ ...visit, address: principal }, "allow") !== undefined) {
    return refusePerson(visit, "You have allowed too much within a minute", WAIT, 429);
  }
  const id = newNonce();
  const provider = signed.provider === null ? undefined : await openProvider(ground, nonce, signed.provider);
  if (signed.provider !== null && !provider) return refusePerson(visit, "Your sign-in can be read no more", AGAIN, 403);
  const code = newNonce() + newNonce();
  const { resource, profile, redirect, challenge } = request;
  const added = await loginOf(visit).addGrant(
    {
      id,
      client: { id: client.id, name: client.name, digest: client.digest },
      principal,
      person: signed.person,
      home: urls.issuer,
      provider: provider ? await sealProvider(ground, id, provider) : null,
      keyHash: signed.keyHash,
      resource,
      profile,
      scopes: request.scopes,
      offline: request.offline,
      narrowing: narrowedBy(answer, extent.tools),
      expires: Date.now() + (login.signInHours ?? SIGN_IN_HOURS) * HOUR_MS,
    },
    { hash: await hashToken(code), redirect, challenge },
  );
  return redirectTo(answerTo(visit, request, added === "added" ? { code } : NO_ROOM), endCookie(visit, nonce));
}

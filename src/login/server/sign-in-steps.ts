// The steps of a person at a tenant's authorization server, from a client's request to its answer: sign in, then
// consent. Each page has an address at which it can be reloaded. Transactions of another browser, page or tenant are
// rejected.

import { hashToken } from "../../auth/api-key.ts";
import { keyPrincipalId, type ToolRestrictions } from "../../auth/principal.ts";
import { digest } from "../../auth/seal.ts";
import type { View } from "../../catalog/view.ts";
import type { TenantDocument } from "../../tenants/document/tenant-document.ts";
import type { LoginContext } from "../login-context.ts";
import { consentPage, parseDecision, parseRestrictions, type ConsentTool } from "../pages/consent-page.ts";
import { formTarget, pageResponse } from "../pages/page.ts";
import { errorPage } from "../pages/error-page.ts";
import { signInPage } from "../pages/sign-in-page.ts";
import { INVALID_KEY } from "../sign-in/pasted-key.ts";
import type { SignInFailure, ProviderIdentity } from "../sign-in/identity-provider-client.ts";
import { IDENTITY_PROVIDERS } from "../sign-in/identity-providers.ts";
import { openAccountSession } from "./account-session.ts";
import { RECONNECT_HINT, EXPIRED_MESSAGE, redirectTo, errorPageResponse, pageTenantOf } from "./oauth-responses.ts";
import { authorizeResponseUrl, parseAuthorize } from "./authorize.ts";
import { findClient, retryAfterOf } from "./find-client.ts";
import { toPrincipal, personScopesOf, intersectScopes } from "./grant-principal.ts";
import { getLoginStub } from "./login-stub.ts";
import type { LoginClient, SignInRecord } from "./login-records.ts";
import { isLoopbackRedirect, isRegisteredRedirect } from "./client-metadata.ts";
import { unsealProvider, sealProvider } from "./provider-seal.ts";
import {
  createTransactionCookie,
  expireCookie,
  expireOldestCookies,
  isSameOriginForm,
  createNonce,
  TRANSACTION_MS,
  readTransaction,
  type AuthorizeRequest,
  type Transaction,
} from "./transaction.ts";

const HOUR_MS = 3_600_000;
const SIGN_IN_HOURS = 168;

export async function beginAuthorize(context: LoginContext): Promise<Response> {
  const parsed = await parseAuthorize(context, new URL(context.request.url).searchParams);
  if (parsed.kind === "wrong") return errorPageResponse(context, parsed.why);
  if (parsed.kind === "valid") return beginSignIn(context, parsed.request, parsed.client);
  return rejectBeforeSignIn(context, parsed, parsed);
}

/**
 * Rejects a request before any sign-in. Does not redirect to a web page, so that an attacker's link to this host cannot
 * lead on to a page of theirs. https://datatracker.ietf.org/doc/html/rfc9700#section-4.11.2
 */
function rejectBeforeSignIn(
  context: LoginContext,
  request: Pick<AuthorizeRequest, "redirect" | "state">,
  { error, why, next }: Pick<SignInFailure, "why"> & { readonly error: string; readonly next?: string },
): Response {
  const isWeb = request.redirect.startsWith("https:") && !isLoopbackRedirect(request.redirect);
  if (isWeb && !context.login.clients) return errorPageResponse(context, why, next);
  return redirectTo(authorizeResponseUrl(context, request, { error, error_description: why }));
}

/** `request` null: for the account page. `isSwitch`: ignore an existing session at the provider. */
export async function beginSignIn(
  context: LoginContext,
  request: AuthorizeRequest | null,
  client?: LoginClient,
  isSwitch = false,
): Promise<Response> {
  const nonce = createNonce();
  const started = await IDENTITY_PROVIDERS[context.login.via]?.begin?.(context, nonce, isSwitch);
  if (started?.kind === "notSignedIn") {
    const { error, why, next } = started;
    return request && error
      ? rejectBeforeSignIn(context, request, { error, why, next })
      : errorPageResponse(context, why, next, 403);
  }
  const cookie = await createTransactionCookie(context, {
    nonce,
    request,
    providerState: started?.providerState ?? {},
  });
  if (cookie === undefined) return errorPageResponse(context, "The client's request is too long");
  const cookies = [...expireOldestCookies(context), cookie];
  if (started) return redirectTo(started.location, ...cookies);
  const page = signInPage({ tenant: pageTenantOf(context), client, form: signInForm(context, nonce) });
  return pageResponse(page, { headers: cookies.map((one) => ["set-cookie", one]) });
}

function signInForm({ urls }: LoginContext, nonce: string) {
  return { action: `${urls.issuer}/sign-in?state=${nonce}`, fields: { state: nonce } };
}

/** Handles the form of our own page, or the provider's redirect back. */
export async function finishSignIn(context: LoginContext): Promise<Response> {
  const isForm = context.request.method === "POST";
  if (isForm && !isSameOriginForm(context))
    return errorPageResponse(context, "The form was sent from another page", RECONNECT_HINT, 403);
  const answer = isForm ? new URLSearchParams(context.body) : new URL(context.request.url).searchParams;
  const state = answer.get("state") ?? "";
  const transaction = await readTransaction(context, state);
  const identityProvider = IDENTITY_PROVIDERS[context.login.via];
  // Keys are accepted from our form only: URLs end up in histories and logs.
  if (!transaction || !identityProvider || isForm === (identityProvider.begin !== undefined))
    return errorPageResponse(context, EXPIRED_MESSAGE);
  const result = await identityProvider.finish(context, answer, transaction.providerState);
  if (result.kind === "notSignedIn") {
    // The provider's answer is valid once, and this is a reload of its page.
    if (identityProvider.begin && !result.error && (await findPendingConsent(context, state)))
      return redirectToStep(context, "consent", { state });
    return identityProvider.begin
      ? signInFailed(context, transaction, result)
      : redirectToStep(context, "sign-in", { state, [WRONG_KEY]: "" });
  }
  const { request, nonce } = transaction;
  const principal = principalIdOf(result.person);
  if (request === null) return openAccountSession(context, nonce, { person: result.person, principal });
  const provider = result.provider ? await sealProvider(context.tenantContext, nonce, result.provider) : null;
  const record = { principal, person: result.person, provider, keyHash: result.keyHash ?? null };
  const added = await getLoginStub(context).addSignIn(nonce, record, Date.now() + TRANSACTION_MS);
  if (added === "added") return redirectToStep(context, "consent", { state });
  return redirectTo(authorizeResponseUrl(context, request, TENANT_FULL), expireCookie(context, nonce));
}

const WAIT_HINT = "Wait a minute, then try again.";
const TENANT_FULL = { error: "temporarily_unavailable", error_description: "The tenant has no room for more sign-ins" };
/** Query parameter of a page: the pasted key is not valid. */
const WRONG_KEY = "wrong";
/** Query parameter of a page: its content has changed since it was shown. */
const CHANGED = "changed";

/** Redirects, so that a reload repeats a page and not a form submission. */
function redirectToStep(
  { urls }: LoginContext,
  step: "sign-in" | "consent",
  query: Readonly<Record<string, string>>,
): Response {
  return redirectTo(`${urls.issuer}/${step}?${new URLSearchParams(query).toString()}`);
}

/** Shows the form again after a wrong key, so that a typo does not end the transaction. */
export async function showSignIn(context: LoginContext): Promise<Response> {
  const { searchParams } = new URL(context.request.url);
  const transaction = await readTransaction(context, searchParams.get("state") ?? "");
  if (!transaction || IDENTITY_PROVIDERS[context.login.via]?.begin) return errorPageResponse(context, EXPIRED_MESSAGE);
  const { nonce, request } = transaction;
  const result = request === null ? undefined : await findClient(context, request.client);
  const client = result?.kind === "clientRefusal" ? undefined : result;
  const error = searchParams.has(WRONG_KEY) ? `${INVALID_KEY.why}. ${INVALID_KEY.next}.` : undefined;
  const page = signInPage({ tenant: pageTenantOf(context), client, form: signInForm(context, nonce), error });
  return pageResponse(page, { status: error === undefined ? 200 : 400 });
}

function signInFailed(
  context: LoginContext,
  { nonce, request }: Transaction,
  { why, next, error }: SignInFailure,
): Response {
  if (request === null || error === undefined) return errorPageResponse(context, why, next, 403);
  return redirectTo(
    authorizeResponseUrl(context, request, { error, error_description: why }),
    expireCookie(context, nonce),
  );
}

/** The same id as for a caller with a token of this issuer. */
function principalIdOf({ issuer, subject }: ProviderIdentity): string {
  return issuer === "key" ? keyPrincipalId(subject) : `oauth ${issuer} ${subject}`;
}

/**
 * The client with its current metadata: no code is sent to an address that the client has given up since its request.
 */
async function findRequestClient(context: LoginContext, request: AuthorizeRequest): ReturnType<typeof findClient> {
  const client = await findClient(context, request.client);
  if (client.kind === "clientRefusal" || isRegisteredRedirect(client, request.redirect)) return client;
  return { kind: "clientRefusal", why: "The client has removed its redirect_uri since you started" };
}

/** A person who signed in and has not decided yet. */
interface PendingConsent {
  readonly nonce: string;
  readonly request: AuthorizeRequest;
  readonly signIn: SignInRecord;
}

/** Returns undefined if this browser has no open decision under this name. */
async function findPendingConsent(context: LoginContext, state: string | null): Promise<PendingConsent | undefined> {
  const transaction = await readTransaction(context, state ?? "");
  if (!transaction?.request) return undefined;
  const { nonce, request } = transaction;
  const signIn = await getLoginStub(context).getSignIn(nonce);
  return signIn ? { nonce, request, signIn } : undefined;
}

interface ShownTool extends ConsentTool {
  /**
   * The profile's name for the tool, or else its source's name. A grant never stores a name that was only adapted for
   * clients.
   */
  readonly policyName: string;
  /** The name in its source, whatever a profile calls it. */
  readonly source: string;
}

interface ConsentExtent {
  /** undefined: no limit on the person. */
  readonly scopes: readonly string[] | undefined;
  readonly tools: readonly ShownTool[];
  /** Digest of everything the page shows: a second sign-in in another tab must not decide for the first. */
  readonly digest: string;
}

/** What the person can let the client use. A text is the reason why there is nothing. */
async function computeExtent(
  context: LoginContext,
  { request, signIn }: PendingConsent,
  client: LoginClient,
): Promise<ConsentExtent | string> {
  const { login } = context;
  const { person, keyHash } = signIn;
  const key = keyHash === null ? undefined : await getLoginStub(context).findKey(keyHash);
  if (key === null) return "The key has expired or was revoked";
  if (key && key.profile !== null && key.profile !== request.profile) return "The key belongs to another profile";
  const scopes = intersectScopes(request.scopes, personScopesOf(login, person, key));
  const { tools } = await context.viewOf(request.profile, {
    ...toPrincipal(signIn.principal, person, login.claims),
    scopes,
  });
  const consentTools = tools.map((tool) => toConsentTool(tool, context.tenantContext.document));
  return {
    scopes,
    tools: consentTools,
    digest: await digest(JSON.stringify([client.digest, signIn.principal, consentTools])),
  };
}

function toConsentTool({ wire, target }: View["tools"][number], { upstreams = {} }: TenantDocument): ShownTool {
  const { name, title, description } = wire as ConsentTool;
  const { name: source, listedName } = target;
  const policyName = name === listedName ? source : name;
  const [id = ""] = name.split("__");
  return { name, policyName, source, title, description, group: Object.hasOwn(upstreams, id) ? id : undefined };
}

export async function showConsent(context: LoginContext): Promise<Response> {
  const { searchParams } = new URL(context.request.url);
  const pending = await findPendingConsent(context, searchParams.get("state"));
  if (!pending) return nothingToDecideResponse(context);
  // Limited, because the page lists every tool.
  if (retryAfterOf({ ...context, clientAddress: pending.signIn.principal }, "consent") !== undefined) {
    return errorPageResponse(context, "You opened this page too often within a minute", WAIT_HINT, 429);
  }
  const { request, signIn, nonce } = pending;
  const client = await findRequestClient(context, request);
  if (client.kind === "clientRefusal") return errorPageResponse(context, client.why);
  const extent = await computeExtent(context, pending, client);
  if (typeof extent === "string") return errorPageResponse(context, extent, RECONNECT_HINT, 403);
  const { redirect, profile } = request;
  const page = consentPage({
    tenant: pageTenantOf(context),
    client,
    redirect,
    profile,
    person: signIn.person,
    scopes: extent.scopes?.map((name) => ({ name, ...context.tenantContext.document.scopes?.[name] })) ?? null,
    tools: extent.tools,
    form: { action: `${context.urls.issuer}/consent?state=${nonce}`, fields: { state: nonce, shown: extent.digest } },
    account: context.urls.account,
    again: searchParams.has(CHANGED)
      ? "Something on this page has changed since you opened it. Check it again."
      : undefined,
  });
  return pageResponse(page, { formTargets: [formTarget(redirect), ...providerTargets(context)] });
}

/** Also shown to a person who goes back to the page after deciding. */
function nothingToDecideResponse(context: LoginContext): Response {
  const why = "You have already decided, or this sign-in has expired. You can close this page.";
  const page = errorPage({ tenant: pageTenantOf(context), title: "Nothing left to decide", why, next: RECONNECT_HINT });
  return pageResponse(page, { status: 410 });
}

/** Form targets for forms that lead to the provider, which may redirect to any place of the web. */
export function providerTargets({ login }: LoginContext): string[] {
  return IDENTITY_PROVIDERS[login.via].begin ? ["https: http:"] : [];
}

/** Handles the person's decision. */
export async function handleConsent(context: LoginContext): Promise<Response> {
  if (!isSameOriginForm(context))
    return errorPageResponse(context, "The form was sent from another page", RECONNECT_HINT, 403);
  const answer = new URLSearchParams(context.body);
  const pending = await findPendingConsent(context, answer.get("state"));
  if (!pending) return errorPageResponse(context, EXPIRED_MESSAGE);
  const decision = parseDecision(answer);
  if (decision === "allow") return allow(context, pending, answer);
  if (decision === "switch") return switchAccount(context, pending);
  const denial = { error: "access_denied", error_description: "The person did not allow it" };
  return redirectTo(authorizeResponseUrl(context, pending.request, denial), expireCookie(context, pending.nonce));
}

async function switchAccount(context: LoginContext, { request, nonce }: PendingConsent): Promise<Response> {
  const client = await findRequestClient(context, request);
  if (client.kind === "clientRefusal") return errorPageResponse(context, client.why);
  const response = await beginSignIn(context, request, client, true);
  // The next person must not go back to the page of the previous one.
  response.headers.append("set-cookie", expireCookie(context, nonce));
  return response;
}

/** A tool that was left out stays excluded by its source's name too, in case a profile stops renaming it. */
function toRestrictions(answer: URLSearchParams, tools: readonly ShownTool[]): ToolRestrictions {
  const names = tools.map(({ name }) => name);
  const { deny, allow: allowed, toolsOnly } = parseRestrictions(answer, names);
  const toolsNamed = (selected: readonly string[]) => tools.filter(({ name }) => selected.includes(name));
  return {
    deny: [...new Set(toolsNamed(deny).flatMap(({ policyName, source }) => [policyName, source]))],
    ...(allowed && { allow: toolsNamed(allowed).map(({ policyName }) => policyName) }),
    ...(toolsOnly && { toolsOnly }),
  };
}

async function allow(context: LoginContext, pending: PendingConsent, answer: URLSearchParams): Promise<Response> {
  const { request, nonce, signIn } = pending;
  const { principal } = signIn;
  const { urls, login, tenantContext } = context;
  const client = await findRequestClient(context, request);
  if (client.kind === "clientRefusal") return errorPageResponse(context, client.why);
  const extent = await computeExtent(context, pending, client);
  if (typeof extent === "string") return errorPageResponse(context, extent, RECONNECT_HINT, 403);
  if (extent.digest !== answer.get("shown")) return redirectToStep(context, "consent", { state: nonce, [CHANGED]: "" });
  // Each consent is a line of the audit log, which people must not flood.
  if (retryAfterOf({ ...context, clientAddress: principal }, "allow") !== undefined) {
    return errorPageResponse(context, "You allowed access too often within a minute", WAIT_HINT, 429);
  }
  const id = createNonce();
  const provider = signIn.provider === null ? undefined : await unsealProvider(tenantContext, nonce, signIn.provider);
  if (signIn.provider !== null && !provider)
    return errorPageResponse(context, "Your sign-in can no longer be read", RECONNECT_HINT, 403);
  const code = createNonce() + createNonce();
  const { resource, profile, redirect, challenge } = request;
  const added = await getLoginStub(context).addGrant(
    {
      id,
      client: { id: client.id, name: client.name, digest: client.digest },
      principal,
      person: signIn.person,
      tenantIssuer: urls.issuer,
      provider: provider ? await sealProvider(tenantContext, id, provider) : null,
      keyHash: signIn.keyHash,
      resource,
      profile,
      scopes: request.scopes,
      offline: request.offline,
      narrowing: toRestrictions(answer, extent.tools),
      expires: Date.now() + (login.signInHours ?? SIGN_IN_HOURS) * HOUR_MS,
    },
    { hash: await hashToken(code), redirect, challenge },
  );
  return redirectTo(
    authorizeResponseUrl(context, request, added === "added" ? { code } : TENANT_FULL),
    expireCookie(context, nonce),
  );
}

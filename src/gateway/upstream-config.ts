// Builds an upstream's endpoint and headers from the tenant's document, with secrets filled in. Fails if a secret is
// missing.

import type { AnswerLimits } from "../mcp-client/answer-limits.ts";
import type { Fetch, RemoteEndpoint } from "../mcp-client/remote-endpoint.ts";
import { httpStatusOf, type Fault } from "../mcp-client/fault.ts";
import { SYSTEM_CLOCK } from "../mcp-client/clock.ts";
import { canonicalJson } from "../auth/seal.ts";
import { workerSecretOf } from "../tenants/document/secret-name.ts";
import type { TenantDocument, UpstreamAuthDocument, UpstreamDocument } from "../tenants/document/tenant-document.ts";
import { getAccessToken, forgetAccessToken, type ClientGrant, type TokenOptions } from "./guard/access-token.ts";
import {
  parseClientPlaceholder,
  clientHeaderValue,
  traceHeaders,
  type GetClientHeader,
} from "./guard/client-headers.ts";
import { upstreamUrl } from "./guard/service-binding.ts";
import { hashOf } from "./listed-name.ts";
import { PLACEHOLDER, parseSecretPlaceholder, timeoutOf, parseSecretReference } from "./upstream-rules.ts";

export interface NamedUpstream {
  readonly id: string;
  readonly upstream: UpstreamDocument;
}

export function enabledUpstreams({ upstreams = {} }: TenantDocument): readonly NamedUpstream[] {
  return Object.entries(upstreams)
    .filter(([, { enabled = true }]) => enabled)
    .map(([id, upstream]) => ({ id, upstream }));
}

/**
 * Changes if the catalog of an upstream may belong to another server. Definitions of another configuration are not
 * served.
 */
export function configHashOf(upstream: UpstreamDocument): string {
  const { era = "auto", headers = {}, auth, trust = "auto" } = upstream;
  const url = upstreamUrl(upstream);
  const text = canonicalJson({ url, era, headers, trust, ...(auth && { auth }) });
  return hashOf(text) + hashOf(`${text.length} ${text}`);
}

export interface HeaderContext {
  readonly tenant: string;
  readonly env: unknown;
  secret(name: string): Promise<string | undefined>;
  /** Absent if there is no client, as when lists are read. */
  readonly clientHeader?: GetClientHeader;
}

/** Headers of every request to an upstream. Names are in lower case. */
export interface ResolvedHeaders {
  readonly headers: Readonly<Record<string, string>>;
  /** Trace context of one client request, so sessions and caches must not depend on it. */
  readonly trace: Readonly<Record<string, string>>;
  /** Credentials in the headers, to be redacted everywhere. */
  readonly secrets: readonly string[];
  /** How to get an access token that is sent too. */
  readonly grant?: ClientGrant;
}

/** Returns the complete headers, or in `lacks` the name of a secret that the tenant does not have. */
export async function resolveHeaders(
  { url = "", headers = {}, auth }: UpstreamDocument,
  context: HeaderContext,
): Promise<ResolvedHeaders | { readonly missingSecret: string }> {
  const resolved: Record<string, string> = {};
  const secrets: string[] = [];
  for (const [name, template] of Object.entries(headers)) {
    const one = await resolveTemplate(template, context);
    if ("missingSecret" in one) return one;
    secrets.push(...one.secrets);
    if (one.value === undefined) continue;
    resolved[name.toLowerCase()] = one.value;
  }
  const trace = context.clientHeader ? traceHeaders(context.clientHeader) : {};
  if (!auth) return { headers: resolved, trace, secrets };
  const clientSecret = await resolveSecret(parseSecretReference(auth.clientSecret) ?? "", context);
  if (typeof clientSecret === "object") return clientSecret;
  const grant = grantOf(auth, { tenant: context.tenant, clientSecret, url });
  return { headers: resolved, trace, secrets: [...secrets, clientSecret], grant };
}

interface ResolvedTemplate {
  /**
   * undefined if the client did not send a header that the template needs: a partial value would be a different value.
   */
  readonly value: string | undefined;
  readonly secrets: readonly string[];
}

async function resolveTemplate(
  template: string,
  context: HeaderContext,
): Promise<ResolvedTemplate | { readonly missingSecret: string }> {
  const parts = new Map<string, string | undefined>();
  const secrets: string[] = [];
  for (const [, inner = ""] of template.matchAll(PLACEHOLDER)) {
    const found = await resolvePlaceholder(inner, context);
    if (typeof found === "object") return found;
    if (found !== undefined && parseSecretPlaceholder(inner) !== undefined) secrets.push(found);
    parts.set(inner, found);
  }
  const isComplete = ![...parts.values()].includes(undefined);
  // One pass, so that placeholders in a client's value are not expanded.
  const value = template.replaceAll(PLACEHOLDER, (_whole, inner: string) => parts.get(inner) ?? "");
  return { value: isComplete ? value : undefined, secrets };
}

function grantOf(
  { tokenUrl, clientId, method = "client_secret_basic", scope, resource }: UpstreamAuthDocument,
  { tenant, clientSecret, url }: Pick<ClientGrant, "tenant" | "clientSecret"> & { readonly url: string },
): ClientGrant {
  const targetResource = resource ?? url;
  return {
    tenant,
    tokenUrl,
    clientId,
    clientSecret,
    method,
    ...(scope !== undefined && { scope }),
    ...(targetResource !== "" && { resource: targetResource }),
  };
}

export interface AuthorizedHeaders extends ResolvedHeaders {
  readonly token?: string;
  /** The same headers without the token. */
  readonly withoutToken?: ResolvedHeaders;
}

/** Identifies the credentials of a request. A new access token for the same client is not a new credential. */
export function headerCredentialOf({ withoutToken, headers, secrets }: AuthorizedHeaders): unknown {
  return withoutToken ? headerCredentialOf(withoutToken) : [headers, secrets];
}

/** Adds the access token. Throws an `AccessTokenError` if there is none. */
export async function withToken(resolvedHeaders: ResolvedHeaders, options: TokenOptions): Promise<AuthorizedHeaders> {
  const { grant, headers, secrets } = resolvedHeaders;
  if (!grant) return resolvedHeaders;
  const token = await getAccessToken(grant, options);
  const authorized = { ...headers, authorization: `Bearer ${token}` };
  return {
    ...resolvedHeaders,
    headers: authorized,
    secrets: [...secrets, token],
    token,
    withoutToken: resolvedHeaders,
  };
}

/** Whether the request was refused for its access token. If so, the token is dropped from the cache. */
export function isTokenStale(fault: Fault, authorizedHeaders: AuthorizedHeaders | undefined): boolean {
  if (!authorizedHeaders?.grant || authorizedHeaders.token === undefined || httpStatusOf(fault) !== 401) return false;
  forgetAccessToken(authorizedHeaders.grant, authorizedHeaders.token);
  return true;
}

/** The value of `{{inner}}`, or undefined if the client did not send it. */
async function resolvePlaceholder(
  inner: string,
  context: HeaderContext,
): Promise<string | undefined | { readonly missingSecret: string }> {
  const header = parseClientPlaceholder(inner);
  if (header !== undefined) return context.clientHeader && clientHeaderValue(context.clientHeader, header);
  return resolveSecret(parseSecretPlaceholder(inner) ?? "", context);
}

async function resolveSecret(
  name: string,
  context: HeaderContext,
): Promise<string | { readonly missingSecret: string }> {
  return (await context.secret(name)) ?? workerSecretOf(context.env, context.tenant, name) ?? { missingSecret: name };
}

/** The default limits are for reading lists; a call passes its own. */
export function endpointOf(
  upstream: UpstreamDocument,
  headers: Readonly<Record<string, string>>,
  fetch: Fetch,
  limits: Partial<AnswerLimits> = listLimits(timeoutOf(upstream)),
): RemoteEndpoint {
  return { url: upstreamUrl(upstream), headers, fetch, clock: SYSTEM_CLOCK, limits };
}

function listLimits(limitMs: number): Partial<AnswerLimits> {
  return { headersMs: limitMs, silenceMs: limitMs, totalMs: limitMs };
}

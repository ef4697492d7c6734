// Owns what a request to an upstream takes from the tenant's document: the endpoint, with the secrets in its headers.
// Refuses a header without its secret.

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

/** Changes when what was read from an upstream may be another server's: definitions of another one are not served. */
export function configOf(upstream: UpstreamDocument): string {
  const { era = "auto", headers = {}, auth, trust = "auto" } = upstream;
  const url = upstreamUrl(upstream);
  const text = canonicalJson({ url, era, headers, trust, ...(auth && { auth }) });
  return hashOf(text) + hashOf(`${text.length} ${text}`);
}

export interface HeaderContext {
  readonly tenant: string;
  readonly env: unknown;
  secret(name: string): Promise<string | undefined>;
  /** Absent where no client asks, as when lists are read. */
  readonly clientHeader?: GetClientHeader;
}

/** What goes with every request to an upstream. Names are in lower case. */
export interface ResolvedHeaders {
  readonly headers: Readonly<Record<string, string>>;
  /** The trace context of the client: of one request, so nothing is kept by it. */
  readonly trace: Readonly<Record<string, string>>;
  /** The credentials in them, which nobody is shown. */
  readonly secrets: readonly string[];
  /** With what an access token is asked for, which goes there too. */
  readonly grant?: ClientGrant;
}

type HeaderResolution = ResolvedHeaders | { readonly lacks: string };

/** The headers with everything in place; `lacks`: the secret that the tenant does not have. */
export async function resolveHeaders(
  { url = "", headers = {}, auth }: UpstreamDocument,
  context: HeaderContext,
): Promise<HeaderResolution> {
  const resolved: Record<string, string> = {};
  const secrets: string[] = [];
  for (const [name, template] of Object.entries(headers)) {
    const one = await resolveTemplate(template, context);
    if ("lacks" in one) return one;
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
  /** undefined: the client did not send what stands in it; half of a value would be another value. */
  readonly value: string | undefined;
  readonly secrets: readonly string[];
}

async function resolveTemplate(
  template: string,
  context: HeaderContext,
): Promise<ResolvedTemplate | { readonly lacks: string }> {
  const parts = new Map<string, string | undefined>();
  const secrets: string[] = [];
  for (const [, inner = ""] of template.matchAll(PLACEHOLDER)) {
    const found = await resolvePlaceholder(inner, context);
    if (typeof found === "object") return found;
    if (found !== undefined && parseSecretPlaceholder(inner) !== undefined) secrets.push(found);
    parts.set(inner, found);
  }
  const isComplete = ![...parts.values()].includes(undefined);
  // In one pass: what a client wrote is not looked through for placeholders.
  const value = template.replaceAll(PLACEHOLDER, (_whole, inner: string) => parts.get(inner) ?? "");
  return { value: isComplete ? value : undefined, secrets };
}

function grantOf(
  { tokenUrl, clientId, method = "client_secret_basic", scope, resource }: UpstreamAuthDocument,
  { tenant, clientSecret, url }: Pick<ClientGrant, "tenant" | "clientSecret"> & { readonly url: string },
): ClientGrant {
  const of = resource ?? url;
  return {
    tenant,
    tokenUrl,
    clientId,
    clientSecret,
    method,
    ...(scope !== undefined && { scope }),
    ...(of !== "" && { resource: of }),
  };
}

export interface AuthorizedHeaders extends ResolvedHeaders {
  readonly token?: string;
  /** The same without it. */
  readonly withoutToken?: ResolvedHeaders;
}

/** Tells what is sent from what was sent before; another token for the same client is no other credential. */
export function headerCredentialOf({ withoutToken, headers, secrets }: AuthorizedHeaders): unknown {
  return withoutToken ? headerCredentialOf(withoutToken) : [headers, secrets];
}

/** The same with the access token in it. Throws a `TokenRefusal` where there is none. */
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

/** Whether it was refused for its access token, which nobody is given again. */
export function isTokenStale(fault: Fault, authorizedHeaders: AuthorizedHeaders | undefined): boolean {
  if (!authorizedHeaders?.grant || authorizedHeaders.token === undefined || httpStatusOf(fault) !== 401) return false;
  forgetAccessToken(authorizedHeaders.grant, authorizedHeaders.token);
  return true;
}

/** What stands in the place of `{{inner}}`; undefined: the client did not send it. */
async function resolvePlaceholder(
  inner: string,
  context: HeaderContext,
): Promise<string | undefined | { readonly lacks: string }> {
  const header = parseClientPlaceholder(inner);
  if (header !== undefined) return context.clientHeader && clientHeaderValue(context.clientHeader, header);
  return resolveSecret(parseSecretPlaceholder(inner) ?? "", context);
}

async function resolveSecret(name: string, context: HeaderContext): Promise<string | { readonly lacks: string }> {
  return (await context.secret(name)) ?? workerSecretOf(context.env, context.tenant, name) ?? { lacks: name };
}

/** For reading lists; `limits` of a call are its own. */
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

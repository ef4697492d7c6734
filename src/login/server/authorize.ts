// Parses a request to `/authorize`, in the order in which it is safe to report errors. Client and redirect URI come
// first: errors in those are shown to the person and never sent to an unverified address.
// https://datatracker.ietf.org/doc/html/draft-ietf-oauth-v2-1-13#section-4.1.1

import type { LoginContext, LoginUrls } from "../login-context.ts";
import type { TenantDocument } from "../../tenants/document/tenant-document.ts";
import { findClient } from "./find-client.ts";
import type { LoginClient } from "./login-records.ts";
import { isRegisteredRedirect } from "./client-metadata.ts";
import type { AuthorizeRequest } from "./transaction.ts";

const S256 = /^[\w-]{43}$/;

/** An error for the client, sent to its redirect URI. */
export interface AuthorizeError {
  readonly kind: "error";
  readonly error: string;
  readonly why: string;
  readonly redirect: string;
  readonly state: string | null;
}

export type ParsedAuthorize =
  | { readonly kind: "valid"; readonly client: LoginClient; readonly request: AuthorizeRequest }
  | AuthorizeError
  /** An error for the person. */
  | { readonly kind: "wrong"; readonly why: string };

export async function parseAuthorize(context: LoginContext, query: URLSearchParams): Promise<ParsedAuthorize> {
  const repeated = findRepeated(query);
  const id = query.get("client_id");
  if (id === null || repeated === "client_id" || repeated === "redirect_uri") {
    return {
      kind: "wrong",
      why: "The client's request is invalid: client_id is missing, or client_id or redirect_uri occurs twice",
    };
  }
  const client = await findClient(context, id);
  if (client.kind === "clientRefusal") return { kind: "wrong", why: client.why };
  const redirect = redirectOf(client, query);
  if (redirect === undefined) {
    return {
      kind: "wrong",
      why: "The client's redirect_uri is not one that it registered",
    };
  }
  const state = query.get("state");
  const { document } = context.tenantContext;
  const match = matchResource(context.urls, document, query.getAll("resource"));
  const failure = findFailure(query, repeated);
  if (failure || !match) return toAuthorizeError(failure ?? unknownResource(context), { redirect, state });
  const [challenge = ""] = query.getAll("code_challenge");
  const requestedScopes = new Set((query.get("scope") ?? "").split(" "));
  const scopes = tenantScopesIn(requestedScopes, document.scopes);
  const offline = requestedScopes.has("offline_access");
  return { kind: "valid", client, request: { client: id, redirect, state, challenge, scopes, offline, ...match } };
}

function toAuthorizeError(
  [error, why]: AuthorizeFailure,
  target: Pick<AuthorizeError, "redirect" | "state">,
): AuthorizeError {
  return { kind: "error", error, why, ...target };
}

type AuthorizeFailure = readonly [error: string, why: string];

function unknownResource({ urls }: LoginContext): AuthorizeFailure {
  return ["invalid_target", `resource must be an endpoint of this tenant, such as ${urls.endpoint}`];
}

function findFailure(query: URLSearchParams, repeated: string | undefined): AuthorizeFailure | undefined {
  if (repeated !== undefined) return ["invalid_request", repeatedMessage(repeated)];
  if (query.get("response_type") !== "code") return ["unsupported_response_type", "response_type must be code"];
  if ((query.get("response_mode") ?? "query") !== "query") return ["invalid_request", "response_mode must be query"];
  if (query.get("code_challenge_method") === "S256" && S256.test(query.get("code_challenge") ?? "")) return undefined;
  return ["invalid_request", "code_challenge with code_challenge_method S256 is required"];
}

/** The first parameter that occurs twice, except `resource`, which may. */
export function findRepeated(sent: URLSearchParams): string | undefined {
  const seen = new Set<string>();
  return [...sent.keys()].find((name) => name !== "resource" && (seen.has(name) || !seen.add(name)));
}

/** Any text can be a name, and an `error_description` has neither quotes nor letters beyond ASCII. */
export function repeatedMessage(name: string): string {
  return `${/^\w{1,64}$/.test(name) ? name : "a parameter"} must not occur twice`;
}

/** A client with a single redirect URI may omit the parameter. */
function redirectOf(client: LoginClient, query: URLSearchParams): string | undefined {
  const [first, ...more] = client.redirects;
  const redirect = query.get("redirect_uri") ?? (more.length === 0 ? first : undefined);
  return redirect !== undefined && isRegisteredRedirect(client, redirect) ? redirect : undefined;
}

/** Unknown scopes are dropped: clients ask for `openid`, or for all scopes that any of their servers has. */
function tenantScopesIn(requestedScopes: ReadonlySet<string>, known: object = {}): readonly string[] | null {
  const names = Object.keys(known).filter((name) => requestedScopes.has(name));
  return names.length === 0 ? null : names;
}

/** https://datatracker.ietf.org/doc/html/rfc9207 */
export function authorizeResponseUrl(
  { urls }: Pick<LoginContext, "urls">,
  { redirect, state }: Pick<AuthorizeRequest, "redirect" | "state">,
  members: Readonly<Record<string, string>>,
): string {
  const url = new URL(redirect);
  for (const [name, value] of Object.entries({ ...members, ...(state !== null && { state }), iss: urls.issuer })) {
    url.searchParams.set(name, value);
  }
  return url.href;
}

interface MatchedResource {
  readonly resource: string;
  readonly profile: string | null;
}

/**
 * `urls`: as the client wrote them; empty means the tenant's endpoint without a profile. Returns undefined if they name
 * no endpoint of this tenant.
 */
export function matchResource(
  { endpoint, shared }: LoginUrls,
  { profiles = {} }: Pick<TenantDocument, "profiles">,
  urls: readonly string[],
): MatchedResource | undefined {
  const [one, ...more] = new Set(urls.map(normalizeUrl));
  if (one === undefined) return { resource: endpoint, profile: null };
  if (more.length > 0) return undefined;
  if (one === endpoint || one === shared) return { resource: one, profile: null };
  const profile = one.startsWith(`${endpoint}/`) ? one.slice(endpoint.length + 1) : "";
  return Object.hasOwn(profiles, profile) ? { resource: one, profile } : undefined;
}

/** The URL of an endpoint without trailing slashes and query; empty if it is invalid. */
function normalizeUrl(text: string): string {
  if (!URL.canParse(text)) return "";
  const { origin, pathname, hash } = new URL(text);
  return hash === "" ? origin + pathname.replace(/\/+$/, "") : "";
}

// The URLs of an endpoint, the metadata that describes it as a protected resource, and the challenge that leads there.
// https://datatracker.ietf.org/doc/html/rfc9728

import { stripMountPath, publicUrl } from "../deployment/mount.ts";
import type { CallerContext } from "../deployment/deployment.ts";
import type { LoginUrls } from "./login-context.ts";
import { oauthScopesOf } from "./oauth-scopes.ts";
import { issuersOf, type TenantDocument } from "../tenants/document/tenant-document.ts";

export const METADATA_PATH = "/.well-known/oauth-protected-resource";

export interface EndpointUrls {
  /** The endpoint's canonical URL. */
  readonly canonical: string;
  /**
   * The URL as the client wrote it, perhaps with a trailing slash or a query: its metadata, and tokens of other
   * issuers, use this form.
   */
  readonly asSent: string;
  /** The URL of its metadata. */
  readonly metadata: string;
}

/** `path`: the part after `/mcp`, for a request to another URL of the tenant. */
export function endpointUrlsOf(request: Pick<Request, "url">, mount: string, path: string): EndpointUrls {
  const url = publicUrl(request, mount);
  const below = stripMountPath(mount, url.pathname).replace(/\/+$/, "");
  const base = url.origin + mount;
  if (!/^\/mcp(?:\/|$)/.test(below)) return endpointUrlsAt(base, `/mcp${path}`);
  // A message of HTTP+SSE comes to a URL that this server created.
  return endpointUrlsAt(base, below, url.searchParams.has("sessionId") ? "" : urlSuffixOf(url));
}

/**
 * `base`: the origin, with the mount path. `below`: the endpoint's path from there, such as `/mcp/acme`; `rest` follows
 * it.
 */
export function endpointUrlsAt(base: string, below: string, rest = ""): EndpointUrls {
  return { canonical: base + below, asSent: base + below + rest, metadata: base + METADATA_PATH + below + rest };
}

/**
 * The part of an endpoint's URL that does not identify it: trailing slashes and the query. Safe inside a quoted string
 * of a header.
 */
export function urlSuffixOf({ pathname, search }: URL): string {
  return pathname.slice(pathname.replace(/\/+$/, "").length) + search.replaceAll("\\", "%5C");
}

/**
 * The tenant's own issuer. The path after `/mcp` begins with the tenant's id, unless the tenant has its own hostname.
 */
export function tenantIssuerOf({ request, deployment, target }: CallerContext["context"]): string {
  const base = new URL(request.url).origin + deployment.path;
  const below = target.profile === null ? "" : `/${target.profile}`;
  return target.path === below ? base : `${base}/login${target.path.slice(0, target.path.length - below.length)}`;
}

/** `isOwn`: the hostname is the tenant's own. `isDefault`: the tenant is the one of `/mcp`. */
export function loginUrlsAt(
  base: string,
  tenant: string,
  { isOwn, isDefault }: { readonly isOwn: boolean; readonly isDefault: boolean },
): LoginUrls {
  if (isOwn) return { issuer: base, account: `${base}/account`, endpoint: `${base}/mcp` };
  const urls = {
    issuer: `${base}/login/${tenant}`,
    account: `${base}/account/${tenant}`,
    endpoint: `${base}/mcp/${tenant}`,
  };
  return isDefault ? { ...urls, shared: `${base}/mcp` } : urls;
}

/** `ownIssuer`: the tenant's own issuer. It comes first, because clients use the first. */
export function createResourceMetadata(document: TenantDocument, { asSent }: EndpointUrls, ownIssuer: string) {
  const { title } = document;
  const scopes = [...new Set(issuersOf(document).flatMap(oauthScopesOf))];
  return {
    resource: asSent,
    authorization_servers: [
      ...(document.auth?.login ? [ownIssuer] : []),
      ...issuersOf(document).map(({ issuer }) => issuer),
    ],
    bearer_methods_supported: ["header"],
    ...(scopes.length > 0 && { scopes_supported: scopes }),
    ...(title !== undefined && { resource_name: title }),
  };
}

/** Absent if no credential came: https://datatracker.ietf.org/doc/html/rfc6750#section-3.1 */
export interface ChallengeError {
  readonly error: "invalid_token" | "insufficient_scope";
  readonly why: string;
}

/** `scopes`: those that the client should request. https://datatracker.ietf.org/doc/html/rfc9728#section-5.1 */
export function createChallenge(
  { metadata }: EndpointUrls,
  scopes: readonly string[],
  challengeError: ChallengeError | undefined,
): string {
  const scope = scopes.length === 0 ? "" : `, scope="${scopes.join(" ")}"`;
  const error = challengeError ? `, error="${challengeError.error}", error_description="${challengeError.why}"` : "";
  return `Bearer realm="tenantry", resource_metadata="${metadata}"${scope}${error}`;
}

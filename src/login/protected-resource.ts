// Owns where things of login are: which resource a request asks for, where its metadata is, and what that says.
// https://datatracker.ietf.org/doc/html/rfc9728

import { pathBelow, publicUrl } from "../deployment/mount.ts";
import { issuersOf, type TenantDocument } from "../tenants/document/tenant-document.ts";

export const METADATA_PATH = "/.well-known/oauth-protected-resource";

/** An endpoint as its client wrote its URL: tokens for it name it so. */
export interface ProtectedResource {
  readonly resource: string;
  readonly metadata: string;
}

/** `path`: what follows `/mcp` where the request itself is to another endpoint of the tenant. */
export function protectedResourceOf(request: Pick<Request, "url">, mount: string, path: string): ProtectedResource {
  const { origin, pathname } = publicUrl(request, mount);
  const below = pathBelow(mount, pathname).replace(/\/+$/, "");
  return protectedResourceAt(origin + mount, /^\/mcp(?:\/|$)/.test(below) ? below : `/mcp${path}`);
}

/** `base`: the origin, with the path of the mount. `below`: the endpoint's path from there, as `/mcp/acme`. */
export function protectedResourceAt(base: string, below: string): ProtectedResource {
  return { resource: base + below, metadata: base + METADATA_PATH + below };
}

export function metadataOf(document: TenantDocument, { resource }: ProtectedResource) {
  const { title } = document;
  return {
    resource,
    authorization_servers: issuersOf(document).map(({ issuer }) => issuer),
    bearer_methods_supported: ["header"],
    ...(title !== undefined && { resource_name: title }),
  };
}

/** https://datatracker.ietf.org/doc/html/rfc9728#section-5.1 */
export function challengeAt({ metadata }: ProtectedResource, error?: string): string {
  const wrong = error === undefined ? "" : `, error="invalid_token", error_description="${error}"`;
  return `Bearer realm="tenantry", resource_metadata="${metadata}"${wrong}`;
}

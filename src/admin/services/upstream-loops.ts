// Rejects a tenant as its own upstream, if the URL shows it. Other loops, such as through another tenant's upstreams,
// are listed a few times: docs/gateway.md.

import { hostnameOf } from "../../auth/origin.ts";
import { stripMountPath } from "../../deployment/mount.ts";
import { tenantIdInHostname } from "../../tenants/directory/worker-hosts.ts";
import type { TenantDocument, FieldRule } from "../../tenants/document/tenant-document.ts";
import type { AdminContext } from "../route.ts";

const ENDPOINTS = new Set(["mcp", "gateway"]);

/** `merged`: the effective document over the tenant's code. */
export function upstreamLoopErrors(
  { env, request, options: { path = "" } }: AdminContext,
  id: string,
  { upstreams = {}, hostnames = [] }: TenantDocument,
): FieldRule[] {
  const requestHosts = [new URL(request.url).host, request.headers.get("host")?.toLowerCase()];
  const leadsToTenant = (text: string) => {
    const { host, pathname } = new URL(text);
    const hostname = hostnameOf(host);
    if (hostnames.includes(hostname) || tenantIdInHostname(hostname, env) === id) return true;
    const [, endpoint = "", tenant] = stripMountPath(path, pathname).split("/");
    return requestHosts.includes(host) && ENDPOINTS.has(endpoint) && tenant === id;
  };
  return Object.entries(upstreams)
    .filter(([, { url = "", enabled = true }]) => enabled && URL.canParse(url) && leadsToTenant(url))
    .map(([name]) => ({ field: `upstreams.${name}.url`, rule: "leads back to this tenant" }));
}

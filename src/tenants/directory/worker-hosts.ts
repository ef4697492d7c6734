// Hostnames that belong to the Worker and never to a tenant. A tenant with such a hostname would capture the admin API
// and every tenant's path for all callers who use that name.

export interface HostVars {
  /** The domain under which each tenant has a hostname, such as `mcp.example.com`. Unset: tenants have none. */
  readonly TENANT_HOST?: string;
}

/** The tenant id in a hostname under `TENANT_HOST`; undefined: the hostname is not one. */
export function tenantIdInHostname(hostname: string, { TENANT_HOST }: HostVars): string | undefined {
  if (!TENANT_HOST || !hostname.endsWith(`.${TENANT_HOST}`)) return undefined;
  return hostname.slice(0, -TENANT_HOST.length - 1);
}

/** Names of this machine, addresses, and the names that Cloudflare gives each Worker. No customer can own one. */
const NEVER_OWNED = /(?:^|\.)(?:localhost|localdomain|workers\.dev)$|^[\d.]+$|^\[/;

export function isWorkerHostname(hostname: string, { TENANT_HOST }: HostVars): boolean {
  return hostname === TENANT_HOST || NEVER_OWNED.test(hostname);
}

// Owns which hostnames are the Worker's and never a tenant's: whoever could give one away would take the admin API and
// every tenant's path from all who come by that name.

export interface HostVars {
  /** The domain under which each tenant has a hostname, such as `mcp.example.com`; unset: none do. */
  readonly TENANT_HOST?: string;
}

/** The id in a hostname that a tenant has by its id; undefined: it is none. */
export function tenantIdInHostname(hostname: string, { TENANT_HOST }: HostVars): string | undefined {
  if (!TENANT_HOST || !hostname.endsWith(`.${TENANT_HOST}`)) return undefined;
  return hostname.slice(0, -TENANT_HOST.length - 1);
}

/** Names of this machine, addresses, and what Cloudflare gives each Worker: no customer can own one. */
const NEVER_OWNED = /(?:^|\.)(?:localhost|localdomain|workers\.dev)$|^[\d.]+$|^\[/;

export function isWorkerHostname(hostname: string, { TENANT_HOST }: HostVars): boolean {
  return hostname === TENANT_HOST || NEVER_OWNED.test(hostname);
}

// Owns how an MCP endpoint is named on the command line: a tenant, a profile of it, or a whole URL.

import { usageError } from "./exit.ts";

/** `base` is the server; it may be a whole endpoint itself where nothing else names one. */
export function endpointUrl(base: string, where: string | undefined): string {
  if (where === undefined) return /\/mcp(?:\/|$)/.test(new URL(base).pathname) ? base : `${base}/mcp`;
  if (/^https?:\/\//i.test(where)) {
    if (URL.canParse(where)) return where;
  } else if (/^[\w-]+(?:\/[\w-]+)?$/.test(where)) {
    return `${base}/mcp/${where}`;
  }
  throw usageError(`${where}: must be a tenant, tenant/profile, or a URL`);
}

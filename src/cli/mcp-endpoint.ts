// The MCP endpoints of the command line: their names (a tenant, a profile, a full URL), keys and time limits. An
// endpoint only ever gets a tenant's key, never an operator's token.

import type { RemoteEndpoint } from "../mcp-client/remote-endpoint.ts";
import { SYSTEM_CLOCK } from "../mcp-client/clock.ts";
import type { KeyInput } from "./commands/key-option.ts";
import { usageError } from "./exit.ts";
import { parseServerUrl } from "./server-url.ts";

export interface McpEndpoint extends RemoteEndpoint {
  /** Where the key came from; undefined: no key. */
  readonly keySource: string | undefined;
}

/** No time limits: the user or the calling program knows better how long is too long. */
const TIMEOUTS = { headersMs: Infinity, silenceMs: Infinity, totalMs: Infinity };
const SIZE_LIMITS = { responseBytes: Infinity, messageBytes: 64 * 1024 * 1024, lines: Infinity };

export function createMcpEndpoint(url: string, key: KeyInput | undefined): McpEndpoint {
  return {
    url,
    keySource: key?.source,
    headers: key === undefined ? {} : { authorization: `Bearer ${key.token}` },
    fetch: async (to, init) => fetch(to, init),
    clock: SYSTEM_CLOCK,
    limits: { ...TIMEOUTS, ...SIZE_LIMITS },
  };
}

/** A URL without a scheme, as --url accepts. A host has a dot or a port, and a tenant id has neither. */
const HOST_AND_PATH = /^(?:[\w-]+(?:\.[\w-]+)+|[\w-]+(?=:))(?::\d+)?\/\S/i;

/** `base`: the server, or a full endpoint if `reference` is absent. */
export function endpointUrl(base: string, reference: string | undefined): string {
  if (reference === undefined) return /\/mcp(?:\/|$)/.test(new URL(base).pathname) ? base : `${base}/mcp`;
  if (/^https?:\/\//i.test(reference)) {
    if (URL.canParse(reference)) return reference;
  } else if (/^[\w-]+(?:\/[\w-]+)?$/.test(reference)) {
    return `${base}/mcp/${reference}`;
  } else if (HOST_AND_PATH.test(reference)) {
    return parseServerUrl(reference);
  }
  throw usageError(`${reference}: must be a tenant, tenant/profile, or a URL`);
}

let lastId = 0;

/** A request id that is unique within this process. */
export function nextMessageId(): number {
  return (lastId += 1);
}

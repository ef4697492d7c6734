// Owns the MCP endpoints that the command line speaks to: how one is named there (a tenant, a profile of it, a whole
// URL), as whom, and how long it may take. Refuses to send an operator's token to one: a tenant's key is all it gets.

import type { RemoteEndpoint } from "../mcp-client/remote-endpoint.ts";
import { SYSTEM_CLOCK } from "../mcp-client/clock.ts";
import type { KeyInput } from "./commands/key-option.ts";
import { usageError } from "./exit.ts";
import { parseServerUrl } from "./server-url.ts";

export interface McpEndpoint extends RemoteEndpoint {
  /** With what its key was given; undefined: it has none. */
  readonly keySource: string | undefined;
}

/** A person, or the program that started us, knows better than we how long is too long. */
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

/** Without a scheme, as --url is given, too: a host has a dot or a port, and no tenant has. */
const HOST_AND_PATH = /^(?:[\w-]+(?:\.[\w-]+)+|[\w-]+(?=:))(?::\d+)?\/\S/i;

/** `base` is the server; it may be a whole endpoint itself where nothing else names one. */
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

/** An id for a request of our own. No other request of this process has it. */
export function nextRequestId(): number {
  return (lastId += 1);
}

// The fetch functions for upstreams, all through `GuardedFetch`. Timeouts and size limits are those of the MCP client.

import { McpFault } from "../mcp-client/fault.ts";
import type { Fetch } from "../mcp-client/remote-endpoint.ts";
import {
  outboundAllowOf,
  GuardedFetch,
  type GuardedFetchOptions,
  type OutboundVars,
} from "../outbound/guarded-fetch.ts";
import { TOKEN_TIMEOUT_MS } from "./guard/access-token.ts";
import { OutboundError } from "../outbound/outbound-error.ts";
import { createResolver } from "../outbound/dns-resolver.ts";

export interface OutboundContext {
  /** Connections are counted per tenant. */
  readonly tenant: string;
  readonly env: unknown;
  /** How many of our Workers the incoming request has passed through. */
  readonly hops: number;
}

/** For a token endpoint, which answers soon and briefly. Counted apart, so that open calls cannot block it. */
export function createTokenFetch({
  tenant,
  env,
  hops,
}: OutboundContext): (url: string, init: RequestInit) => Promise<Response> {
  const guardedFetch = createTenantGuardedFetch({ tenant: `token ${tenant}`, env, hops }, TOKEN_TIMEOUT_MS);
  return async (url, init) => guardedFetch.fetch(url, { ...init, redirect: "manual", maxBytes: 64 * 1024 });
}

type ServiceFetch = GuardedFetchOptions["service"];

function createTenantGuardedFetch(
  { tenant, env, hops }: OutboundContext,
  timeoutMs: number,
  service?: ServiceFetch,
): GuardedFetch {
  const resolve = createResolver((env as OutboundVars).OUTBOUND_RESOLVER);
  const allow = outboundAllowOf(env);
  // Made for each request: older versions of workerd refuse to make a signal while the Worker loads.
  const signal = () => new AbortController().signal;
  return new GuardedFetch({ tenant, hops, signal, allow, resolve, timeoutMs, service });
}

/** For reading an upstream's lists. Counted apart, so that open calls cannot block it. */
export function createCatalogFetch({ tenant, env, hops }: OutboundContext, service?: ServiceFetch): Fetch {
  return createUpstreamFetch({ tenant: `reading ${tenant}`, env, hops }, service);
}

/** No timeout here: the request ends with its call, and the reader counts the bytes. */
export function createUpstreamFetch(context: OutboundContext, service?: ServiceFetch): Fetch {
  const guardedFetch = createTenantGuardedFetch(context, Infinity, service);
  return (url, init) => guardedFetch.fetch(url, init).catch(rethrowAsFault);
}

function rethrowAsFault(error: unknown): never {
  if (!(error instanceof OutboundError)) throw error;
  throw new McpFault({ kind: "unreachable", code: error.code, sent: "no" }, error);
}

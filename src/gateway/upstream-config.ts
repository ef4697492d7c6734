// Owns what a request to an upstream takes from the tenant's document: the endpoint, with the secrets in its headers.
// Refuses a header without its secret.

import type { AnswerLimits } from "../mcp-client/answer-limits.ts";
import type { Fetch, RemoteEndpoint } from "../mcp-client/remote-endpoint.ts";
import { SYSTEM_CLOCK } from "../mcp-client/clock.ts";
import { canonicalJson } from "../auth/seal.ts";
import { workerSecretOf } from "../tenants/document/secret-name.ts";
import type { TenantDocument, UpstreamDocument } from "../tenants/document/tenant-document.ts";
import { clientHeaderIn, clientValue, traceHeaders, type ClientHeader } from "./guard/client-headers.ts";
import { hashOf } from "./listed-name.ts";
import { PLACEHOLDER, secretIn, timeoutOf } from "./upstream-rules.ts";

export interface NamedUpstream {
  readonly id: string;
  readonly upstream: UpstreamDocument;
}

export function enabledUpstreams({ upstreams = {} }: TenantDocument): readonly NamedUpstream[] {
  return Object.entries(upstreams)
    .filter(([, { enabled = true }]) => enabled)
    .map(([id, upstream]) => ({ id, upstream }));
}

/** Changes when what was read from an upstream may be another server's: definitions of another one are not served. */
export function configOf({ url, era = "auto", headers = {}, trust = "auto" }: UpstreamDocument): string {
  // Left out where it is the default: what an earlier release has read stays in force.
  const text = canonicalJson({ url, era, headers, ...(trust === "review" && { trust }) });
  return hashOf(text) + hashOf(`${text.length} ${text}`);
}

export interface SecretsAt {
  readonly tenant: string;
  readonly env: unknown;
  secret(name: string): Promise<string | undefined>;
  /** Absent where no client asks, as when lists are read. */
  readonly client?: ClientHeader;
}

/** What goes with every request to an upstream. Names are in lower case. */
export interface FilledHeaders {
  readonly headers: Readonly<Record<string, string>>;
  /** Those of them that come from the client. */
  readonly ofClient: Readonly<Record<string, string>>;
  /** The trace context of the client: of one request, so nothing is kept by it. */
  readonly trace: Readonly<Record<string, string>>;
  /** The credentials in them, which nobody is shown. */
  readonly secrets: readonly string[];
}

/** The headers with everything in place; `lacks`: the secret that the tenant does not have. */
export async function headersOf(
  { headers = {} }: UpstreamDocument,
  at: SecretsAt,
): Promise<FilledHeaders | { readonly lacks: string }> {
  const filled: Record<string, string> = {};
  const ofClient: Record<string, string> = {};
  const secrets: string[] = [];
  for (const [name, template] of Object.entries(headers)) {
    const parts = new Map<string, string | undefined>();
    for (const [, inner = ""] of template.matchAll(PLACEHOLDER)) {
      const found = await filling(inner, at);
      if (typeof found === "object") return found;
      if (found !== undefined && secretIn(inner) !== undefined) secrets.push(found);
      parts.set(inner, found);
    }
    // Without the client's header there is none of ours: half of a value is another value.
    if ([...parts.values()].includes(undefined)) continue;
    const value = template.replaceAll(PLACEHOLDER, (_whole, inner: string) => parts.get(inner) ?? "");
    filled[name.toLowerCase()] = value;
    if ([...parts.keys()].some((inner) => clientHeaderIn(inner) !== undefined)) ofClient[name.toLowerCase()] = value;
  }
  return { headers: filled, ofClient, trace: at.client ? traceHeaders(at.client) : {}, secrets };
}

/** What stands in the place of `{{inner}}`; undefined: the client did not send it. */
async function filling(inner: string, at: SecretsAt): Promise<string | undefined | { readonly lacks: string }> {
  const header = clientHeaderIn(inner);
  if (header !== undefined) return at.client && clientValue(at.client, header);
  return secretOf(secretIn(inner) ?? "", at);
}

export async function secretOf(name: string, at: SecretsAt): Promise<string | { readonly lacks: string }> {
  return (await at.secret(name)) ?? workerSecretOf(at.env, at.tenant, name) ?? { lacks: name };
}

/** For reading lists; `limits` of a call are its own. */
export function endpointOf(
  upstream: UpstreamDocument,
  headers: Readonly<Record<string, string>>,
  fetch: Fetch,
  limits: Partial<AnswerLimits> = listLimits(timeoutOf(upstream)),
): RemoteEndpoint {
  return { url: upstream.url, headers, fetch, clock: SYSTEM_CLOCK, limits };
}

function listLimits(limitMs: number): Partial<AnswerLimits> {
  return { headersMs: limitMs, silenceMs: limitMs, totalMs: limitMs };
}

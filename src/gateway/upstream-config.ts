// Owns what a request to an upstream takes from the tenant's document: the endpoint, with the secrets in its headers.
// Refuses a header without its secret.

import type { AnswerLimits } from "../mcp-client/answer-limits.ts";
import type { Fetch, RemoteEndpoint } from "../mcp-client/remote-endpoint.ts";
import { SYSTEM_CLOCK } from "../mcp-client/clock.ts";
import { canonicalJson } from "../auth/seal.ts";
import { workerSecretOf } from "../tenants/document/secret-name.ts";
import type { TenantDocument, UpstreamDocument } from "../tenants/document/tenant-document.ts";
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
}

/** The headers with their secrets in place, names in lower case; `lacks`: the secret that the tenant does not have. */
export async function headersOf(
  { headers = {} }: UpstreamDocument,
  at: SecretsAt,
): Promise<{ readonly headers: Readonly<Record<string, string>> } | { readonly lacks: string }> {
  const filled: Record<string, string> = {};
  for (const [name, template] of Object.entries(headers)) {
    let value = template;
    for (const [whole, inner = ""] of template.matchAll(PLACEHOLDER)) {
      const secret = secretIn(inner) ?? "";
      const found = (await at.secret(secret)) ?? workerSecretOf(at.env, at.tenant, secret);
      if (found === undefined) return { lacks: secret };
      value = value.split(whole).join(found);
    }
    filled[name.toLowerCase()] = value;
  }
  return { headers: filled };
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

// Sends one message to one webhook: signed, through the outbound guard, with a timeout, and without following
// redirects. The result contains only the status of the response.

import type { WebhookTrial } from "../deployment/deployment.ts";
import { OutboundError } from "../outbound/outbound-error.ts";
import { outboundAllowOf, GuardedFetch, type OutboundVars } from "../outbound/guarded-fetch.ts";
import { createResolver } from "../outbound/dns-resolver.ts";
import { createWebhookHeaders } from "./webhook-signature.ts";

/** A webhook with its secret in clear. */
export interface WebhookTarget {
  readonly url: string;
  readonly secret: string;
}

export interface WebhookMessage {
  readonly id: string;
  readonly type: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly data: unknown;
}

const TIMEOUT_MS = 10_000;
const MAX_RESPONSE_BYTES = 65_536;

/** Never rejects. */
export async function sendWebhook(
  target: WebhookTarget,
  message: WebhookMessage,
  { tenant, env }: { readonly tenant: string; readonly env: unknown },
): Promise<WebhookTrial> {
  const began = Date.now();
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const resolve = createResolver((env as OutboundVars).OUTBOUND_RESOLVER);
  const outbound = new GuardedFetch({ tenant, hops: 0, signal: () => signal, allow: outboundAllowOf(env), resolve });
  const toResult = (status: number | null, why: string | null) => ({
    delivered: why === null,
    status,
    why,
    milliseconds: Date.now() - began,
  });
  try {
    const { id, type, at, data } = message;
    const body = JSON.stringify({ type, timestamp: new Date(at).toISOString(), data });
    const signed = { id, seconds: Math.floor(Date.now() / 1000), body };
    // The error may contain the secret, which must not be shown. The reason below is reported instead.
    const headers = await createWebhookHeaders(target.secret, signed).catch(() => undefined);
    if (!headers) return toResult(null, "its secret is invalid: whsec_ must be followed by Base64");
    const init = { method: "POST", headers, body, redirect: "manual", maxBytes: MAX_RESPONSE_BYTES } as const;
    const { status, body: answered } = await outbound.fetch(target.url, init);
    await answered?.cancel();
    return toResult(status, status >= 200 && status < 300 ? null : `it answered ${status}`);
  } catch (error) {
    return toResult(null, error instanceof OutboundError ? error.message : "it did not answer");
  } finally {
    outbound.close();
  }
}

// Owns sending one message to one webhook: through the outbound door, signed, in time, and nowhere that it leads to. Refuses
// to say what the other side answered beyond its status.

import type { WebhookTrial } from "../deployment/deployment.ts";
import { OutboundError } from "../outbound/outbound-error.ts";
import { allowedBy, OutboundDoor, type OutboundVars } from "../outbound/outbound-door.ts";
import { resolverAt } from "../outbound/resolve.ts";
import { webhookHeaders } from "./webhook-signature.ts";

/** A webhook with its secret in clear. */
export interface OpenHook {
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

const WITHIN_MS = 10_000;
const MOST_READ = 65_536;

/** Never rejects. */
export async function sendWebhook(
  hook: OpenHook,
  message: WebhookMessage,
  { tenant, env }: { readonly tenant: string; readonly env: unknown },
): Promise<WebhookTrial> {
  const began = Date.now();
  const signal = AbortSignal.timeout(WITHIN_MS);
  const resolve = resolverAt((env as OutboundVars).OUTBOUND_RESOLVER);
  const door = new OutboundDoor({ tenant, hops: 0, signal: () => signal, allow: allowedBy(env), resolve });
  const done = (status: number | null, why: string | null) => ({
    delivered: why === null,
    status,
    why,
    milliseconds: Date.now() - began,
  });
  try {
    const { id, type, at, data } = message;
    const body = JSON.stringify({ type, timestamp: new Date(at).toISOString(), data });
    const signed = { id, seconds: Math.floor(Date.now() / 1000), body };
    // What fails with a secret is that secret, which nobody is shown: the reason below says so.
    const headers = await webhookHeaders(hook.secret, signed).catch(() => undefined);
    if (!headers) return done(null, "its secret is nothing to sign with: behind whsec_ comes Base64");
    const sent = { method: "POST", headers, body, redirect: "manual", maxBytes: MOST_READ } as const;
    const { status, body: answered } = await door.fetch(hook.url, sent);
    await answered?.cancel();
    return done(status, status >= 200 && status < 300 ? null : `it answered ${status}`);
  } catch (error) {
    return done(null, error instanceof OutboundError ? error.message : "it did not answer");
  } finally {
    door.close();
  }
}

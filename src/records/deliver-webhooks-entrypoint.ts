// Owns the way from a tenant's authority to the entrypoint of the Worker that sends to webhooks, in an invocation of its own.

import { exports } from "cloudflare:workers";
import type { TenantUid } from "../tenants/object/tenant-uid.ts";
import type { WebhookMessage } from "./send-webhook.ts";

/** The name under which a Worker exports it. */
export const DELIVERIES = "WebhookDeliveries";

export interface DeliveryRequest {
  readonly tenant: string;
  readonly uid: TenantUid;
  /** `done`: the webhooks that have it already. */
  readonly events: readonly (WebhookMessage & { readonly done: readonly string[] })[];
}

/** `why`: why a webhook does not have it; null: it has. */
export interface WebhookResult {
  readonly name: string;
  readonly why: string | null;
}

/** For each of the news, of the webhooks that want it. Without any: nobody does. */
export type DeliveryResults = readonly { readonly id: string; readonly hooks: readonly WebhookResult[] }[];

export interface DeliveryBinding {
  /** Rejects where nobody can say now which webhooks there are. */
  deliver(request: DeliveryRequest): Promise<DeliveryResults>;
}

export async function deliverWebhooks(request: DeliveryRequest): Promise<DeliveryResults> {
  const entrypoints = exports as unknown as Readonly<Record<string, DeliveryBinding | undefined>>;
  const deliveries = entrypoints[DELIVERIES];
  if (!deliveries) throw new TypeError(`the Worker does not export ${DELIVERIES}`);
  return deliveries.deliver(request);
}

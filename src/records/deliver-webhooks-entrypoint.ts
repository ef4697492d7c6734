// Calls the Worker's entrypoint that sends webhooks from a tenant object, in a separate invocation.

import { exports } from "cloudflare:workers";
import type { TenantUid } from "../tenants/object/tenant-uid.ts";
import type { WebhookMessage } from "./send-webhook.ts";

/** The name under which a Worker exports the entrypoint. */
export const DELIVERIES = "WebhookDeliveries";

export interface DeliveryRequest {
  readonly tenant: string;
  readonly uid: TenantUid;
  /** `deliveredTo`: the webhooks that already received the event. */
  readonly events: readonly (WebhookMessage & { readonly deliveredTo: readonly string[] })[];
}

/** `why`: the reason of a failure; null: delivered. */
export interface WebhookResult {
  readonly name: string;
  readonly why: string | null;
}

/** The results for each event, by webhook. An event without results has no subscribed webhook. */
export type DeliveryResults = readonly { readonly id: string; readonly hooks: readonly WebhookResult[] }[];

export interface DeliveryBinding {
  /** Rejects if the tenant's webhooks cannot be determined now. */
  deliver(request: DeliveryRequest): Promise<DeliveryResults>;
}

export async function deliverWebhooks(request: DeliveryRequest): Promise<DeliveryResults> {
  const entrypoints = exports as unknown as Readonly<Record<string, DeliveryBinding | undefined>>;
  const deliveries = entrypoints[DELIVERIES];
  if (!deliveries)
    throw new TypeError(
      `the Worker does not export ${DELIVERIES}: write export * from "tenantry/objects" in the file that main names`,
    );
  return deliveries.deliver(request);
}

// Owns the way from a tenant's authority to the entrypoint of the Worker that sends to webhooks, in an invocation of its own.

import { exports } from "cloudflare:workers";
import type { Incarnation } from "../tenants/authority/incarnation.ts";
import type { WebhookMessage } from "./send-webhook.ts";

/** The name under which a Worker exports it. */
export const DELIVERIES = "WebhookDeliveries";

export interface DeliveryOrder {
  readonly tenant: string;
  readonly incarnation: Incarnation;
  /** `done`: the webhooks that have it already. */
  readonly news: readonly (WebhookMessage & { readonly done: readonly string[] })[];
}

/** `why`: why a webhook does not have it; null: it has. */
export interface HookOutcome {
  readonly name: string;
  readonly why: string | null;
}

/** For each of the news, of the webhooks that want it. Without any: nobody does. */
export type DeliveryOutcome = readonly { readonly id: string; readonly hooks: readonly HookOutcome[] }[];

export interface DeliveryBinding {
  /** Rejects where nobody can say now which webhooks there are. */
  deliver(order: DeliveryOrder): Promise<DeliveryOutcome>;
}

export async function deliver(order: DeliveryOrder): Promise<DeliveryOutcome> {
  const entrypoints = exports as unknown as Readonly<Record<string, DeliveryBinding | undefined>>;
  const deliveries = entrypoints[DELIVERIES];
  if (!deliveries) throw new TypeError(`the Worker does not export ${DELIVERIES}`);
  return deliveries.deliver(order);
}

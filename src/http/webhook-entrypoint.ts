// Owns the feature `webhooks()` with its entrypoint: what a tenant's authority has to tell leaves here, in an invocation of
// its own, for the webhooks that the tenant has at that moment. Only the Worker itself reaches it.

import { WorkerEntrypoint } from "cloudflare:workers";
import type { Bindings, Feature } from "../deployment/deployment.ts";
import type { DeliveryBinding, DeliveryOrder, DeliveryOutcome } from "../records/deliver-entrypoint.ts";
import { tellHooks, webhooksFeature, type WebhooksOptions } from "../records/webhooks.ts";
import { enterItself } from "./outside.ts";
import { deploymentWith } from "./stored-runs-entrypoint.ts";
import type { Env } from "./visit.ts";

type DeliveriesClass = new (ctx: ExecutionContext, env: Env) => WorkerEntrypoint<Env> & DeliveryBinding;

/** Tells the webhooks of tenants, and the platform's, what happens to tenants: docs/webhooks.md. */
export function webhooks(options: WebhooksOptions = {}): Feature<{ readonly WebhookDeliveries: DeliveriesClass }> {
  const feature: Feature<{ readonly WebhookDeliveries: DeliveriesClass }> = {
    ...webhooksFeature(options),
    objects: {
      WebhookDeliveries: class WebhookDeliveries extends WorkerEntrypoint<Env> implements DeliveryBinding {
        async deliver({ tenant: id, incarnation, news }: DeliveryOrder): Promise<DeliveryOutcome> {
          const deployment = deploymentWith(feature);
          const { env, ctx } = this;
          const entered = await enterItself({ deployment, env, ctx, id });
          // Another tenant of the name has webhooks of its own.
          if (entered.created !== incarnation) return news.map((one) => ({ id: one.id, hooks: [] }));
          const ground = {
            tenant: id,
            document: entered.document,
            env: env as unknown as Bindings,
            secret: (name: string) => entered.secret(name),
          };
          return Promise.all(news.map(async (one) => ({ id: one.id, hooks: await tellHooks(one, ground, options) })));
        }
      },
    },
  };
  return feature;
}

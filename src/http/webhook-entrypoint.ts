// The entrypoint of `webhooks()`: what a tenant's authority has to tell leaves here, in an invocation of its own, for the webhooks
// that the tenant has at that moment. Only the Worker itself reaches it.

import { WorkerEntrypoint } from "cloudflare:workers";
import type { Bindings } from "../deployment/deployment.ts";
import { registered } from "../deployment/registry.ts";
import type { DeliveryBinding, DeliveryOrder, DeliveryOutcome } from "../records/deliver-entrypoint.ts";
import { tellHooks, type WebhooksFeature } from "../records/webhooks.ts";
import { enterItself } from "./outside.ts";
import type { Env } from "./visit.ts";

export class WebhookDeliveries extends WorkerEntrypoint<Env> implements DeliveryBinding {
  async deliver({ tenant: id, incarnation, news }: DeliveryOrder): Promise<DeliveryOutcome> {
    const { deployment, feature } = registered("webhooks", id);
    const { options } = feature as WebhooksFeature;
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
}

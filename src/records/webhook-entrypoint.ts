// The entrypoint of `webhooks()`: sends a tenant's events to the tenant's current webhooks, in a separate invocation.
// Only the Worker itself can call it.

import { WorkerEntrypoint } from "cloudflare:workers";
import type { UntypedEnv } from "../deployment/deployment.ts";
import { requireFeature } from "../deployment/registry.ts";
import type { DeliveryBinding, DeliveryRequest, DeliveryResults } from "./deliver-webhooks-entrypoint.ts";
import { dispatchWebhooks, type WebhooksFeature } from "./webhooks.ts";
import { authorizeAsSystem } from "../endpoint/outside.ts";
import type { Env } from "../endpoint/request-context.ts";

/** Entrypoint that only the Worker itself calls: sends events to webhooks. */
export class WebhookDeliveries extends WorkerEntrypoint<Env> implements DeliveryBinding {
  async deliver({ tenant: id, uid, events }: DeliveryRequest): Promise<DeliveryResults> {
    const { deployment, feature } = requireFeature("webhooks", id);
    const { options } = feature as WebhooksFeature;
    const { env, ctx } = this;
    const authorized = await authorizeAsSystem({ deployment, env, ctx, id });
    // Another tenant of the name has its own webhooks.
    if (authorized.created !== uid) return events.map((event) => ({ id: event.id, hooks: [] }));
    const context = {
      tenant: id,
      document: authorized.document,
      env: env as unknown as UntypedEnv,
      secret: (name: string) => authorized.secret(name),
    };
    return Promise.all(
      events.map(async (event) => ({ id: event.id, hooks: await dispatchWebhooks(event, context, options) })),
    );
  }
}

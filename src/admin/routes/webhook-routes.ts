// Owns the routes for a tenant's webhooks: which there are, what waits for them, and sending one a test. What is configured
// is the document's alone.

import type { WebhookOperations } from "../../deployment/deployment.ts";
import { findManaged } from "../apply/tenant-access.ts";
import { upstreamGround } from "../apply/upstream-access.ts";
import type { WebhooksShape, WebhookTested, Infer } from "../contract.ts";
import { lackingFeature, notFound } from "../problem.ts";
import { routes, type Desk } from "../route.ts";
import { WEBHOOK_ENDPOINTS } from "../endpoints/record-endpoints.ts";

export const webhookRoutes = routes(WEBHOOK_ENDPOINTS, {
  "GET /tenants/{id}/webhooks": async (call) => {
    const operations = operationsOf(call);
    const managed = await findManaged(call, call.params.id);
    const { ground } = await upstreamGround(call, managed);
    const items = Object.entries(ground.document.webhooks ?? {}).map(([name, { url, events, enabled = true }]) => {
      return { name, url, events: events ? [...events] : null, enabled };
    });
    const { waiting, dropped } = await operations.queue(managed.stub());
    return { body: { items, waiting, dropped } satisfies Infer<typeof WebhooksShape> };
  },
  "POST /tenants/{id}/webhooks/{webhook}/test": async (call) => {
    const { id, webhook } = call.params;
    const operations = operationsOf(call);
    const { ground } = await upstreamGround(call, await findManaged(call, id));
    const body = await operations.test(ground, webhook);
    if (!body) throw notFound(`webhook ${webhook} of ${id}`);
    return { body: body satisfies Infer<typeof WebhookTested> };
  },
});

function operationsOf({ options: { features = [] } }: Desk): WebhookOperations {
  const operations = features.find(({ webhooks }) => webhooks)?.webhooks;
  if (operations) return operations;
  throw lackingFeature("Webhooks need the feature webhooks()");
}

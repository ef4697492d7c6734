// Routes for a tenant's webhooks: list them with their pending messages, and send a test. The document alone
// configures them.

import type { WebhookOperations } from "../../deployment/deployment.ts";
import { requireTenant } from "../services/tenant-handle.ts";
import { getUpstreamContext } from "../services/upstream-context.ts";
import type { WebhooksShape, WebhookTestResult, Infer } from "../contract.ts";
import { missingFeature, notFound } from "../problem.ts";
import { defineRoutes, type AdminContext } from "../route.ts";
import { WEBHOOK_ENDPOINTS } from "../endpoints/record-endpoints.ts";

export const webhookRoutes = defineRoutes(WEBHOOK_ENDPOINTS, {
  "GET /tenants/{id}/webhooks": async (context) => {
    const operations = requireWebhookOperations(context);
    const handle = await requireTenant(context, context.params.id);
    const { upstreamContext } = await getUpstreamContext(context, handle);
    const items = Object.entries(upstreamContext.document.webhooks ?? {}).map(
      ([name, { url, events, enabled = true }]) => {
        return { name, url, events: events ? [...events] : null, enabled };
      },
    );
    const { waiting, dropped } = await operations.queue(handle.stub());
    return { body: { items, waiting, dropped } satisfies Infer<typeof WebhooksShape> };
  },
  "POST /tenants/{id}/webhooks/{webhook}/test": async (context) => {
    const { id, webhook } = context.params;
    const operations = requireWebhookOperations(context);
    const { upstreamContext } = await getUpstreamContext(context, await requireTenant(context, id));
    const body = await operations.test(upstreamContext, webhook);
    if (!body) throw notFound(`webhook ${webhook} of ${id}`);
    return { body: body satisfies Infer<typeof WebhookTestResult> };
  },
});

function requireWebhookOperations({ options: { features = [] } }: AdminContext): WebhookOperations {
  const operations = features.find(({ webhooks }) => webhooks)?.webhooks;
  if (operations) return operations;
  throw missingFeature("Webhooks need the feature webhooks()");
}

// Routes of the admin API: webhook.

import { WebhookTested, WebhooksShape } from "../contract.ts";
import { ROLES, TenantParams, endpoints } from "../endpoint.ts";
import { object, textUpTo } from "../schema-parts.ts";

const WebhookParams = object({ ...TenantParams.shape, webhook: textUpTo(100, 1) });

export const WEBHOOK_ENDPOINTS = endpoints({
  "GET /tenants/{id}/webhooks": {
    summary: "A tenant's webhooks, and how much waits for them",
    roles: ROLES.tenantRead,
    params: TenantParams,
    replies: [{ status: 200, schema: WebhooksShape, about: "Webhooks by name; no secrets" }],
  },
  "POST /tenants/{id}/webhooks/{webhook}/test": {
    summary: "Send a webhook a message that says nothing, and say what became of it",
    roles: ROLES.tenant,
    params: WebhookParams,
    replies: [{ status: 200, schema: WebhookTested, about: "Whether it took it" }],
  },
});

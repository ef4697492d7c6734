// Owns the routes for a tenant's webhooks: which there are, what waits for them, and sending one a test. What is configured
// is the document's alone.

import type { WebhookOperations } from "../../deployment/deployment.ts";
import { findManaged } from "../apply/tenant-access.ts";
import { upstreamGround } from "../apply/upstream-access.ts";
import { WebhooksShape, WebhookTested, type Infer } from "../contract.ts";
import { lackingFeature, notFound } from "../problem.ts";
import { ROLES, route, type Desk, type Route } from "../route.ts";
import { object, textUpTo } from "../schema-parts.ts";
import { TenantParams } from "./tenant-routes.ts";

const WebhookParams = object({ ...TenantParams.shape, webhook: textUpTo(100, 1) });

export const webhookRoutes: readonly Route[] = [
  route({
    method: "get",
    path: "/tenants/{id}/webhooks",
    summary: "A tenant's webhooks, and how much waits for them",
    roles: ROLES.tenantRead,
    params: TenantParams,
    replies: [{ status: 200, schema: WebhooksShape, about: "Webhooks by name; no secrets" }],
    handle: async (call) => {
      const operations = operationsOf(call);
      const managed = await findManaged(call, call.params.id);
      const { ground } = await upstreamGround(call, managed);
      const items = Object.entries(ground.document.webhooks ?? {}).map(([name, { url, events, enabled = true }]) => {
        return { name, url, events: events ? [...events] : null, enabled };
      });
      const { waiting, dropped } = await operations.queue(managed.stub());
      return { body: { items, waiting, dropped } satisfies Infer<typeof WebhooksShape> };
    },
  }),
  route({
    method: "post",
    path: "/tenants/{id}/webhooks/{webhook}/test",
    summary: "Send a webhook a message that says nothing, and say what became of it",
    roles: ROLES.tenant,
    params: WebhookParams,
    replies: [{ status: 200, schema: WebhookTested, about: "Whether it took it" }],
    handle: async (call) => {
      const { id, webhook } = call.params;
      const operations = operationsOf(call);
      const { ground } = await upstreamGround(call, await findManaged(call, id));
      const body = await operations.test(ground, webhook);
      if (!body) throw notFound(`webhook ${webhook} of ${id}`);
      return { body: body satisfies Infer<typeof WebhookTested> };
    },
  }),
];

function operationsOf({ options: { features = [] } }: Desk): WebhookOperations {
  const operations = features.find(({ webhooks }) => webhooks)?.webhooks;
  if (operations) return operations;
  throw lackingFeature("Webhooks need the feature webhooks()");
}

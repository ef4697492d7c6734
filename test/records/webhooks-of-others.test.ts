// What a tenant's callers or administrators do with webhooks hides nothing from those who operate it: not by how much there is to
// tell, not by receivers that answer nothing.

import { describe, expect, it } from "vitest";
import { dispatchWebhooks, type WebhookContext } from "../../src/records/webhooks.ts";
import { MAX_QUEUED, webhookStore } from "../../src/records/webhook-store.ts";
import type { TenantEvent } from "../../src/tenants/object/tenant-events.ts";
import { withStore } from "../support/workerd/tenant.ts";
import { upstreamAt } from "../support/workerd/upstreams.ts";

const down: TenantEvent = { type: "upstream.down", deduplicationKey: "up 1", data: { upstream: "up" } };
const reached = (at: number): TenantEvent => ({
  type: "quota.reached",
  deduplicationKey: `caller-${at} 2026-11-23`,
  data: { who: "" },
});

describe("too many messages", () => {
  it("drop the type of which there are most, and other types wait on", async () => {
    await withStore(webhookStore, ({ methods, clock, sql }) => {
      methods.enqueue(down);
      for (let at = 0; at < MAX_QUEUED + 50; at += 1) {
        clock.now += 1;
        methods.enqueue(reached(at));
      }
      expect(methods.queue()).toEqual({ waiting: MAX_QUEUED, dropped: 51 });
      expect(sql.exec("SELECT count(*) AS n FROM webhook_queue WHERE type = 'upstream.down'").one()).toEqual({ n: 1 });
    });
  });

  it("do not make a repeated message be told twice", async () => {
    await withStore(webhookStore, ({ methods, clock, sql }) => {
      methods.enqueue(down);
      for (let at = 0; at < 1_100; at += 1) {
        clock.now += 1;
        methods.enqueue(reached(at));
      }
      sql.exec("DELETE FROM webhook_queue");
      methods.enqueue(down);
      expect(methods.queue().waiting).toBe(0);
      expect(sql.exec("SELECT count(*) AS n FROM webhook_sent_keys").one()).toEqual({ n: 1_000 });
    });
  });
});

it("the platform's webhook is told before those of the tenant, which may each take ten seconds", async () => {
  const notifications: string[] = [];
  const receiver = (name: string) =>
    upstreamAt(async (request) => {
      await request.text();
      notifications.push(`${name} begins`);
      await scheduler.wait(20);
      notifications.push(`${name} ends`);
      return new Response(null, { status: 204 });
    });
  const own = Object.fromEntries(["a", "b"].map((name) => [name, { url: receiver("own"), secret: "{{secret:HOOK}}" }]));
  const context: WebhookContext = {
    tenant: "acme",
    document: { webhooks: own },
    env: {},
    secret: async () => "whsec_c2VjcmV0LW9mLXRoZS1ob29r",
  };
  const message = { id: "msg_1", type: "upstream.down", at: 0, data: {}, deliveredTo: [] };
  const outcomes = await dispatchWebhooks(message, context, {
    platform: () => ({ ops: { url: receiver("platform"), secret: "in clear" } }),
  });
  expect(outcomes.map(({ name, why }) => [name, why])).toEqual([
    ["platform ops", null],
    ["a", null],
    ["b", null],
  ]);
  expect(notifications.slice(0, 2)).toEqual(["platform begins", "platform ends"]);
});

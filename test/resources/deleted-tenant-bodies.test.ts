// What comes to KV after a tenant was deleted, from an upload that was cut off before it could clear up, is deleted too.

import { runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, expect, it, vi } from "vitest";
import { contentStore } from "../../src/resources/content-store.ts";
import { TOMBSTONE_MS } from "../../src/tenants/object/deletion-state.ts";
import { createRpcClient } from "../../src/tenants/object/store.ts";
import { contentSideOf, freshTenant, inside } from "../support/workerd/tenant.ts";
import { putOf } from "./stored-resources.ts";

afterEach(() => {
  vi.useRealTimers();
});

it("a body that was uploaded after its tenant's end goes with what is remembered of the tenant", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  const tenant = contentSideOf(freshTenant());
  const content = createRpcClient(tenant.content, contentStore);
  await content.put(putOf("note:a"));
  await content.closeContent("2026-11-21T10:00:00.123456Z");
  await content.purge(100);
  await content.erase();
  const late = `body/${tenant.id}/late`;
  await env.BODIES.put(late, "late");
  vi.setSystemTime(Date.now() + TOMBSTONE_MS + 60_001);
  await runDurableObjectAlarm(tenant.object);
  expect(await env.BODIES.get(late)).toBeNull();
  await inside(tenant, ({ storage }) => {
    expect([...storage.kv.list()]).toEqual([]);
  });
});

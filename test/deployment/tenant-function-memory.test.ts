// How much an isolate keeps of tenants that an author's function knows: what it said of many takes no more than everything that is
// held of tenants may.

import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { createWorker } from "../../src/tenantry.ts";
import { peekPolicy } from "../../src/tenants/cache/policy-cache.ts";
import { freshTenant } from "../support/workerd/tenant.ts";

const MIB = 1024 * 1024;

it("the answers for many tenants stay within the memory budget of tenants", async () => {
  let instructions = "x".repeat(2 * MIB);
  const mcp = createWorker({
    tenants: async () => ({ instructions, maxStalenessMs: 50 }),
    hooks: { onError: () => {} },
  });
  const ids = Array.from({ length: 8 }, () => freshTenant().id);
  for (const id of ids) await mcp.tenant(env, id).resources.list();
  const held = () => ids.map((id) => peekPolicy(id)?.bytes ?? 0).filter((bytes) => bytes > 0);
  expect(held().length).toBeLessThanOrEqual(4);
  expect(Math.min(...held())).toBeGreaterThan(4 * MIB);
  instructions = "short";
  for (const id of ids) await mcp.tenant(env, id).invalidate();
  for (const id of ids) await mcp.tenant(env, id).resources.list();
  expect(held().length).toBe(8);
  expect(Math.max(...held())).toBeLessThan(MIB);
});

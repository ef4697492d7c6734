// The list asked for each of 500 tenants, up to four times. It asks each shard of the directory once.

import { exports } from "cloudflare:workers";
import { expect, it } from "vitest";
import { ask, newTenant, operator, type adminEnv } from "../../support/workerd/admin.ts";

/** Calls to objects of the directory. */
function counted(): { env: Partial<typeof adminEnv>; calls: () => number } {
  let calls = 0;
  const stubOf = (stub: object) =>
    new Proxy(stub, {
      get:
        (target, name) =>
        (...args: unknown[]) => {
          calls += 1;
          return (Reflect.get(target, name) as (...given: unknown[]) => unknown)(...args);
        },
    });
  const env: Partial<typeof adminEnv> = {};
  Reflect.set(env, "DirectoryObject", { getByName: (name: string) => stubOf(exports.DirectoryObject.getByName(name)) });
  return { env, calls: () => calls };
}

it("a tenant-admin's list of tenants takes one call of each shard for a page", async () => {
  const made = [await newTenant(), await newTenant(), await newTenant()].toSorted();
  const missing = Array.from({ length: 200 }, (_none, at) => `not-there-${at}`);
  const { token } = await operator("tenant-admin", { tenants: [...missing, ...made] });
  const { env, calls } = counted();
  const page = async (query: string) => {
    const { body } = await ask("GET", `/tenants?limit=2${query}`, { token, env });
    return body as { items: { id: string }[]; cursor?: string };
  };
  const first = await page("");
  const second = await page(`&cursor=${first.cursor}`);
  expect([...first.items, ...second.items].map(({ id }) => id)).toEqual(made);
  expect(second.cursor).toBeUndefined();
  // Two pages of 16 shards; who asks is an operator of the platform's object.
  expect(calls()).toBeLessThanOrEqual(32);
});

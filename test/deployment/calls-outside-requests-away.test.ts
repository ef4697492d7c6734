// Code outside of a call, while the tenant's objects cannot be reached: a queue that knows a `TenantError` by `retryAfter` was
// given the platform's own error.

import { env, exports } from "cloudflare:workers";
import { expect, it } from "vitest";
import { createWorker, TenantError, type Env } from "../../src/tenantry.ts";
import { servedTenant } from "../support/workerd/served-tenant.ts";
import { keeperOf } from "../support/workerd/object-calls.ts";

/** Its objects' calls never arrive. */
const away = keeperOf(() => Promise.reject(new Error("Network connection lost.")));

const unreached = (binding: "ContentObject" | "TenantObject"): Env => {
  const get = (_target: object, member: string | symbol) =>
    member === "getByName" || member === "get"
      ? () => away
      : (Reflect.get(exports[binding], member) as () => unknown).bind(exports[binding]);
  return { ...env, [binding]: new Proxy({}, { get }) };
};

type Outside = ReturnType<ReturnType<typeof createWorker>["tenant"]>;

it.each<[string, "ContentObject" | "TenantObject", (outside: Outside) => Promise<unknown>]>([
  ["announce", "ContentObject", (outside) => outside.announce({ tools: true })],
  ["resources.write", "ContentObject", (outside) => outside.resources.write({ uri: "a:b", name: "b", text: "b" })],
  ["resources.list", "ContentObject", (outside) => outside.resources.list({})],
  ["changed", "TenantObject", (outside) => outside.invalidate()],
])("%s rejects with a TenantError that says when to try again", async (_name, binding, use) => {
  const { id } = await servedTenant();
  const mcp = createWorker({ tenants: {}, hooks: { onError: () => {} } });
  const failed: unknown = await use(mcp.tenant(unreached(binding), id)).catch((error: unknown) => error);
  expect(failed).toBeInstanceOf(TenantError);
  expect(failed).toMatchObject({
    code: "unavailable",
    retryAfter: expect.any(Number) as number,
    cause: { message: "Network connection lost." },
  });
});

it("an author's mistake is thrown as it is", async () => {
  const { id } = await servedTenant();
  const outside = createWorker({ tenants: {} }).tenant(env, id);
  await expect(outside.announce({ updated: ["no uri"] })).rejects.toBeInstanceOf(TypeError);
  await expect(outside.resources.write({ uri: "nope", name: "b", text: "b" })).rejects.toThrow("a URI must start with");
});

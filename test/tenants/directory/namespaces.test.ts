import { createExecutionContext, runInDurableObject } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import { expect, it } from "vitest";
import { hasNamespace, namespaceOf } from "../../../src/tenants/directory/namespaces.ts";
import { OBJECT_CLASSES } from "../../../src/tenants/directory/object-classes.ts";
import { createWorker } from "../../../src/tenantry.ts";

it("the Worker's exports give the objects of each class, in a request and in an object", async () => {
  const here = OBJECT_CLASSES.map((name) => hasNamespace(env, name));
  const inObject = await runInDurableObject(exports.UpstreamObject.getByName("namespaces"), (object) =>
    OBJECT_CLASSES.map((name) => hasNamespace(Reflect.get(object, "env"), name)),
  );
  expect([...here, ...inObject]).toEqual(Array(2 * OBJECT_CLASSES.length).fill(true));
});

it("a binding with the name of the class goes first", async () => {
  const requests: string[] = [];
  const TenantObject = new Proxy(exports.TenantObject, {
    get: (target, member) => {
      if (member !== "getByName") return Reflect.get(target, member) as unknown;
      return (name: string) => {
        requests.push(name);
        return target.getByName(name);
      };
    },
  }) as unknown as DurableObjectNamespace;
  expect(namespaceOf({ TenantObject }, "TenantObject")).toBe(TenantObject);
  const worker = createWorker({ tenants: { elsewhere: { mode: "open" } } });
  const message = { jsonrpc: "2.0", id: 1, method: "tools/list", params: {} };
  const response = await worker.fetch(
    new Request("https://mcp.example.com/mcp/elsewhere", {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
      body: JSON.stringify(message),
    }),
    { ...env, TenantObject },
    createExecutionContext(),
  );
  expect(response.status).toBe(200);
  expect(requests).toContain("elsewhere");
});

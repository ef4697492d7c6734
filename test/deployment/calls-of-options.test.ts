// What a request costs in calls to objects and to KV with each of an author's options, counted where the Worker makes them: no more
// with many tools, templates or tenants than with one, and under a lease nothing that the request is not for.

import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { createWorker, definePrompt, defineTemplate, defineTool, links } from "../../src/tenantry.ts";
import { faultyEnv } from "../support/workerd/faulty-env.ts";
import { freshTenant } from "../support/workerd/tenant.ts";

/** Everything that an author may say, so many times. */
function workerWith(many: number) {
  const each = Array.from({ length: many }, (_one, at) => at);
  const visible = ({ principal }: { principal: { id: string } }) => principal.id !== "app none";
  return createWorker({
    authenticate: () => ({ id: "ann", tenant: here }),
    tenants: async () => ({ maxStalenessMs: 300_000, around: async (_call, next) => next() }),
    around: async (_call, next) => next(),
    features: [links()],
    extensions: { "com.example/one": {} },
    tools: [
      ...each.map((at) => defineTool({ name: `tool${at}`, visible, handler: () => "done" })),
      defineTool({ name: "link", handler: async (_args, ctx) => ctx.link("text", { name: "text" }) }),
    ],
    prompts: each.map((at) => definePrompt({ name: `prompt${at}`, visible, handler: () => "said" })),
    resources: each.map((at) =>
      defineTemplate({
        uriTemplate: `thing${at}://{id}`,
        name: `thing${at}`,
        visible,
        cache: { ttlMs: 1000, scope: "public" },
        list: () => ({ resources: [] }),
        read: ({ id }) => ({ blob: new TextEncoder().encode(id) }),
      }),
    ),
    hooks: { onError: () => {} },
  });
}
let here = "";

const REQUESTS: readonly (readonly [method: string, params: object, calls: readonly string[]])[] = [
  ["tools/list", {}, []],
  ["tools/call", { name: "tool0" }, []],
  ["tools/call", { name: "link" }, ["TenantObject results.keep"]],
  ["prompts/list", {}, []],
  ["prompts/get", { name: "prompt0" }, []],
  ["resources/templates/list", {}, []],
  ["resources/list", {}, ["ContentObject content.list"]],
  ["resources/read", { uri: "thing0://7" }, []],
  ["resources/read", { uri: "stored:one" }, ["ContentObject content.get"]],
  [
    "completion/complete",
    { ref: { type: "ref/resource", uri: "thing0://{id}" }, argument: { name: "id", value: "" } },
    ["ContentObject content.uris"],
  ],
];

it.each([1, 50])("is the same with %i of each", async (many) => {
  here = freshTenant().id;
  const worker = workerWith(many);
  const outside = worker.tenant(env, here);
  await outside.resources.write({ uri: "stored:one", name: "one", text: crypto.randomUUID() });
  for (const [method, params, calls] of REQUESTS) {
    const at = faultyEnv("hangs", "none");
    const headers = {
      accept: "application/json, text/event-stream",
      "content-type": "application/json",
      "mcp-protocol-version": "2025-11-25",
    };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    const request = new Request("https://mcp.example.com/mcp", { method: "POST", headers, body });
    const answered = await (await worker.fetch(request, at.env, createExecutionContext())).text();
    expect([method, answered.includes('"result"') || answered.slice(0, 200)]).toEqual([method, true]);
    expect([method, at.steps.filter((step) => step !== "BODIES get")]).toEqual([method, calls]);
  }
});

it("is the same outside of a request with many tenants", async () => {
  const worker = workerWith(1);
  for (let at = 0; at < 8; at += 1) await worker.tenant(env, freshTenant().id).resources.list();
  here = freshTenant().id;
  const at = faultyEnv("hangs", "none");
  const stepsOf = async (use: (tenant: ReturnType<typeof worker.tenant>) => Promise<unknown>) => {
    at.steps.length = 0;
    await use(worker.tenant(at.env, here));
    return [...at.steps];
  };
  const as = { id: "nightly" };
  expect(await stepsOf((tenant) => tenant.announce({ tools: true }))).toEqual([
    "DirectoryObject lookup",
    "TenantObject policy.lease",
    "TenantObject authority.markSeeded",
    "TenantObject policy.lease",
    "ContentObject changes.announce",
  ]);
  expect(await stepsOf((tenant) => tenant.announce({ tools: true }))).toEqual(["ContentObject changes.announce"]);
  expect(await stepsOf((tenant) => tenant.callTool("tool0", {}, { as }))).toEqual([]);
  const updated = Array.from({ length: 1000 }, (_one, each) => `thing0://${each}`);
  expect(await stepsOf((tenant) => tenant.announce({ updated }))).toEqual(["ContentObject changes.announce"]);
});

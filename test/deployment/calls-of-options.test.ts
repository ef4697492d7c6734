// What a request costs in calls to objects, counted where the Worker makes them: no more with many tools or templates than with one.

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

const REQUESTS: readonly (readonly [method: string, params: object])[] = [
  ["tools/list", {}],
  ["tools/call", { name: "tool0" }],
  ["tools/call", { name: "link" }],
  ["prompts/list", {}],
  ["prompts/get", { name: "prompt0" }],
  ["resources/templates/list", {}],
  ["resources/list", {}],
  ["resources/read", { uri: "thing0://7" }],
  ["resources/read", { uri: "stored:one" }],
  ["completion/complete", { ref: { type: "ref/resource", uri: "thing0://{id}" }, argument: { name: "id", value: "" } }],
];

/** How many calls to objects each request makes under a lease. */
async function callsWith(many: number): Promise<readonly (readonly [string, number])[]> {
  here = freshTenant().id;
  const worker = workerWith(many);
  const outside = worker.tenant(env, here);
  await outside.resources.write({ uri: "stored:one", name: "one", text: crypto.randomUUID() });
  const counts: (readonly [string, number])[] = [];
  for (const [method, params] of REQUESTS) {
    const at = faultyEnv("hangs", "none");
    const headers = {
      accept: "application/json, text/event-stream",
      "content-type": "application/json",
      "mcp-protocol-version": "2025-11-25",
    };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    const request = new Request("https://mcp.example.com/mcp", { method: "POST", headers, body });
    expect(await (await worker.fetch(request, at.env, createExecutionContext())).text()).toContain('"result"');
    counts.push([`${method} ${JSON.stringify(params)}`, at.steps.filter((step) => step !== "BODIES get").length]);
  }
  return counts;
}

it("a request makes as many calls to objects with fifty of each option as with one, and none for what is in code", async () => {
  const counts = await callsWith(1);
  expect(await callsWith(50)).toEqual(counts);
  const inCode = counts.filter(([request]) => /^(tools\/list|prompts|resources\/templates)|tool0/.test(request));
  expect(inCode.map(([, calls]) => calls)).toEqual([0, 0, 0, 0, 0]);
});

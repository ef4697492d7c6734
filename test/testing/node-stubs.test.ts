// The file of a Worker, imported by a test in Node: it throws what a deployment would be refused for, in the same words.

import { describe, expect, it } from "vitest";
import * as z from "zod";
import {
  admin,
  createWorker,
  defineResource,
  defineTool,
  gateway,
  links,
  login,
} from "../../src/testing/definitions.ts";

const tool = defineTool({ name: "look", handler: () => "looked" });
const priced = defineTool({ name: "price", config: z.object({ perKg: z.number() }), handler: () => "7" });
const page = defineResource({ uri: "page:a", name: "A", read: () => "a" });
const upstreams = { tracker: { url: "https://mcp.example.com/mcp" } };

type Options = Parameters<typeof createWorker>[0];

describe("createWorker in Node", () => {
  it.each<[what: string, options: object, says: string]>([
    ["a mistyped option", { tols: [tool] }, "createWorker: unknown field tols"],
    ["a tool that is there twice", { tools: [tool, tool] }, 'tool "look" is defined twice'],
    ["a path that is none", { path: "ai" }, 'path "ai": must begin with a slash'],
    ["a tenant's name that is none", { tenants: { Acme: {} } }, 'tenant id "Acme"'],
    ["a tool that nobody defines", { tools: [tool], tenants: { acme: { tools: ["lok"] } } }, 'did you mean "look"?'],
    ["config that lacks", { tools: [priced], tenants: { acme: {} } }, "config.price.perKg"],
    ["settings that lack", { settings: z.object({ plan: z.string() }) }, "settings.plan"],
    ["settings that are no schema", { settings: { plan: "free" } }, "settings: has no keyword of JSON Schema"],
    ["what needs a feature", { tenants: { acme: { upstreams } } }, "upstreams needs the feature gateway()"],
    ["a limit that there is not", { limits: { calls: 5 } }, "unknown limit"],
  ])("refuses %s", (_what, options, says) => {
    expect(() => createWorker(options as Options)).toThrow(says);
  });

  it.each<[what: string, options: object]>([
    ["nothing", {}],
    [
      "all of it",
      { tools: [tool], resources: [page], tenants: { acme: { upstreams } }, features: [gateway(), login()] },
    ],
    ["config that an API may bring", { tools: [priced], tenants: { acme: {} }, features: [admin(), links()] }],
    ["tenants that a database knows", { tools: [priced], tenants: () => undefined, defaultTenant: "acme" }],
  ])("takes %s, and cannot be asked", async (_what, options) => {
    const worker = createWorker(options);
    await expect(worker.fetch()).rejects.toThrow("start it with wrangler dev");
    expect(() => worker.tenant()).toThrow("tenantry/testing");
  });
});

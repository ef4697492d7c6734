// What an author's schemas and returned objects come to in a whole Worker, in both eras: `ctx.settings` in tools, prompts,
// templates and resources alike (it was undefined in all but tools), bare objects (they were refused), defaults of config.

import { describe, expect, it, vi } from "vitest";
import * as z from "zod";
import {
  createWorker,
  definePrompt,
  defineResource,
  defineTemplate,
  defineTool,
  type CompletionContext,
  type Context,
} from "../../src/tenantry.ts";
import type { TenantDocument } from "../../src/tenants/document/tenant-document.ts";
import { sendTo, servedTenant } from "../support/workerd/served-tenant.ts";

const settings = z.object({ plan: z.enum(["free", "paid"]), seats: z.number().default(1) });
type Mine = Context<Cloudflare.Env, z.infer<typeof settings>>;

const onError = vi.fn<(error: unknown) => void>();
const worker = createWorker({
  tenants: {},
  settings,
  hooks: { onError },
  tools: [
    defineTool({ name: "bare", handler: () => ({ price: 7 }) }),
    defineTool({
      name: "fits",
      output: z.object({ price: z.number(), content: z.string() }),
      handler: () => ({ price: 7, content: "of a product" }),
    }),
    defineTool({ name: "plan", handler: (_args, ctx: Mine) => ({ ...ctx.settings }) }),
    defineTool({
      name: "rate",
      config: z.object({ rate: z.number().min(1), unit: z.string().default("kg") }),
      handler: (_args, ctx) => `${ctx.config.rate} per ${ctx.config.unit}, ${Object.isFrozen(ctx.config)}`,
    }),
    defineTool({ name: "raw", handler: (_args, ctx) => JSON.stringify(ctx.config ?? null) }),
  ],
  prompts: [definePrompt({ name: "plan", handler: (_args, ctx: Mine) => ctx.settings.plan })],
  resources: [
    defineResource({ uri: "plan:all", name: "plan", read: (ctx: Mine) => ctx.settings.plan }),
    defineTemplate({
      uriTemplate: "plan:of/{id}{?tone}",
      name: "plan",
      complete: { id: (_value, { ctx }: CompletionContext<string, Mine>) => [ctx.settings.plan] },
      read: ({ id, tone }, ctx: Mine) => `${id}: ${ctx.settings.plan} ${tone ?? "plain"}`,
    }),
  ],
});

interface TypedResult {
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly code: number; readonly message: string };
}

const INFO = { name: "test", version: "1" };
const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": INFO,
  "io.modelcontextprotocol/clientCapabilities": {},
};

describe.each(["2025-11-25", "2026-07-28"])("in %s", (revision) => {
  async function ask(tenant: string, method: string, params: Record<string, unknown>): Promise<TypedResult> {
    const isNew = revision === "2026-07-28";
    const message = { jsonrpc: "2.0", id: 1, method, params: isNew ? { ...params, _meta: META } : params };
    const named = params["name"] ?? params["uri"];
    const headers = {
      "mcp-protocol-version": revision,
      accept: "application/json",
      ...(isNew ? { "mcp-method": method, ...(typeof named === "string" ? { "mcp-name": named } : {}) } : {}),
    };
    return (await sendTo(worker, tenant, { message, headers })).json();
  }

  const call = (tenant: string, name: string) => ask(tenant, "tools/call", { name, arguments: {} });
  const tenantWith = async (document: TenantDocument) => (await servedTenant({ mode: "open", ...document })).id;

  it("an object is structured content, and a text for clients without that", async () => {
    const tenant = await tenantWith({});
    expect((await call(tenant, "bare")).result).toMatchObject({
      content: [{ type: "text", text: '{"price":7}' }],
      structuredContent: { price: 7 },
    });
    const product = { price: 7, content: "of a product" };
    expect((await call(tenant, "fits")).result).toMatchObject({
      content: [{ type: "text", text: JSON.stringify(product) }],
      structuredContent: product,
    });
  });

  it("settings are read by tools, prompts, templates, resources and completers alike", async () => {
    const tenant = await tenantWith({ settings: { plan: "paid" } });
    expect((await call(tenant, "plan")).result).toMatchObject({ structuredContent: { plan: "paid", seats: 1 } });
    const prompt = await ask(tenant, "prompts/get", { name: "plan" });
    expect(prompt.result).toMatchObject({ messages: [{ content: { text: "paid" } }] });
    const resource = await ask(tenant, "resources/read", { uri: "plan:all" });
    expect(resource.result).toMatchObject({ contents: [{ text: "paid" }] });
    const template = await ask(tenant, "resources/read", { uri: "plan:of/7" });
    expect(template.result).toMatchObject({ contents: [{ text: "7: paid plain" }] });
    const completed = await ask(tenant, "completion/complete", {
      ref: { type: "ref/resource", uri: "plan:of/{id}{?tone}" },
      argument: { name: "id", value: "" },
    });
    expect(completed.result).toMatchObject({ completion: { values: ["paid"] } });
  });

  it("a tool's config has the defaults of its schema, and is as written without one", async () => {
    const tenant = await tenantWith({ tools: { rate: { config: { rate: 3 } }, raw: { config: [1] } } });
    expect((await call(tenant, "rate")).result).toMatchObject({ content: [{ text: "3 per kg, true" }] });
    expect((await call(tenant, "raw")).result).toMatchObject({ content: [{ text: "[1]" }] });
  });

  it("settings that a narrower schema now refuses are logged, and not shown to the client", async () => {
    const tenant = await tenantWith({ settings: { plan: "gold" }, tools: { "ra*": { config: { rate: 0 } } } });
    onError.mockClear();
    const said = [
      await call(tenant, "rate"),
      await call(tenant, "plan"),
      await ask(tenant, "prompts/get", { name: "plan" }),
    ];
    for (const { error } of said) {
      expect(error).toMatchObject({
        code: -32603,
        message: expect.stringContaining("config or settings do not match"),
      });
    }
    expect(JSON.stringify(said)).not.toMatch(/gold|rate/);
    const logged = onError.mock.calls.map(([error]) => (error as Error).message);
    expect(logged[0]).toContain(`tenant "${tenant}": tools.ra*.config.rate: `);
    expect(logged[1]).toContain(`tenant "${tenant}": settings.plan: `);
    expect(logged).toHaveLength(3);
  });
});

import { describe, expect, it } from "vitest";
import * as z from "zod";
import { createTypedConfig } from "../../../src/handlers/typed-config.ts";
import { defineTool } from "../../../src/handlers/tool.ts";
import { adminEnv, adminOptions, appOf, newTenant, ORIGIN } from "../../support/workerd/admin.ts";

const quote = defineTool({
  name: "quote_price",
  config: { type: "object", properties: { rate: { type: "number", minimum: 1 } }, required: ["rate"] },
  handler: () => "",
});
const app = appOf({
  ...adminOptions,
  catalog: {
    ...adminOptions.catalog,
    tools: [...adminOptions.catalog.tools, quote],
    settings: createTypedConfig(z.object({ plan: z.enum(["free", "paid"]), seats: z.number().optional() })),
  },
});

async function write(path: string, json: unknown) {
  const headers = { authorization: `Bearer ${adminEnv.ADMIN_TOKEN}`, "content-type": "application/json" };
  const request = new Request(`${ORIGIN}/admin/v1${path}`, { method: "PUT", headers, body: JSON.stringify(json) });
  const response = await app.fetch(request, adminEnv);
  type Rules = readonly { field: string; rule: string }[];
  const { errors, warnings } = await response.json<{ errors?: Rules; warnings?: Rules }>();
  return { status: response.status, errors, warnings };
}

it("a member that the author's schema does not have is a warning, and the document is accepted", async () => {
  const id = await newTenant();
  const json = {
    mode: "open",
    settings: { plan: "free", seat: 3 },
    tools: { quote_price: { config: { rate: 2, x: 1 } } },
  };
  expect(await write(`/tenants/${id}/document`, json)).toEqual({
    status: 200,
    warnings: [
      { field: "settings.seat", rule: "is not in the schema: did you mean seats?" },
      { field: "tools.quote_price.config.x", rule: "is not in the schema" },
    ],
  });
});

describe("a tenant's document", () => {
  it.each([
    ["tools.quote_price.config.rate", { tools: { quote_price: { config: { rate: 0 } } } }],
    ["tools.quote_*.config.rate", { tools: { "quote_*": { config: { rate: "2" } } } }],
    ["settings.plan", { settings: { plan: "gold" } }],
    ["settings.plan", { settings: {} }],
  ])("is refused where %s breaks a rule", async (field, json) => {
    const id = await newTenant();
    const { status, errors } = await write(`/tenants/${id}/document`, { mode: "open", ...json });
    expect(status).toBe(422);
    expect(errors).toEqual([{ field, rule: expect.stringMatching(/\w/) }]);
  });

  it.each([
    ["says nothing of it", {}],
    ["says what fits", { settings: { plan: "free" }, tools: { quote_price: { config: { rate: 2 } } } }],
    ["has the tool switched off", { tools: { quote_price: { enabled: false, config: { rate: 0 } } } }],
  ])("is taken where it %s", async (_what, json) => {
    const id = await newTenant();
    expect((await write(`/tenants/${id}/document`, { mode: "open", ...json })).status).toBe(200);
  });

  it("has the settings of its base beside its own, member by member, and what the base binds", async () => {
    const id = await newTenant();
    expect((await write("/bases/priced", { settings: { plan: "paid" } })).status).toBeLessThan(300);
    const own = { mode: "open", extends: ["priced"], settings: { seats: 3 } };
    expect((await write(`/tenants/${id}/document`, own)).status).toBe(200);
    const broken = await write(`/tenants/${id}/document`, { ...own, settings: { seats: "3" } });
    expect(broken).toMatchObject({ status: 422, errors: [{ field: "settings.seats" }] });
  });
});

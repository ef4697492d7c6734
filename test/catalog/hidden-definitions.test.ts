import { expect, it } from "vitest";
import { ANONYMOUS } from "../../src/auth/principal.ts";
import { createTypedConfig } from "../../src/handlers/typed-config.ts";
import { restrictedDefinitions, findHidden } from "../../src/catalog/hidden-definitions.ts";
import { defineTool } from "../../src/tenantry.ts";

it("settings that do not fit their schema hide what asks for them, and nothing else", () => {
  const plan = { type: "object", properties: { plan: { type: "string" } } } as const;
  const asks = defineTool({
    name: "asks",
    visible: ({ settings }) => (settings as { plan?: string }).plan !== "tin",
    handler: () => "",
  });
  const does_not = defineTool({ name: "does_not", visible: ({ tenant }) => tenant.id === "acme", handler: () => "" });
  const catalog = {
    server: { name: "test", version: "0" },
    instructions: undefined,
    tools: [asks, does_not],
    prompts: [],
    resources: [],
    settings: createTypedConfig(plan),
    guarded: restrictedDefinitions({ tools: [asks, does_not] }),
  };
  const errors: unknown[] = [];
  const hiddenFor = (settings: Record<string, unknown>) =>
    findHidden(
      { catalog, document: { settings }, tenant: { id: "acme" } },
      { principal: ANONYMOUS, tenant: { id: "acme", profile: null } },
      (error) => errors.push(error),
    )?.definitions;
  expect(hiddenFor({ plan: "gold" })).toEqual(new Set());
  expect(hiddenFor({ plan: "tin" })).toEqual(new Set([asks]));
  expect(errors).toEqual([]);
  expect(hiddenFor({ plan: 7 })).toEqual(new Set([asks]));
  expect(errors.map(String)).toEqual([expect.stringContaining('tenant "acme": settings.plan')]);
});

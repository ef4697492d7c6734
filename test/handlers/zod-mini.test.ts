// One file, because a module is imported once.

import { expect, it } from "vitest";
import * as z from "zod/mini";
import { defineTool } from "../../src/handlers/tool.ts";

const tool = () =>
  defineTool({
    name: "t",
    input: z.object({ when: z.string().check(z.minLength(2)) }),
    handler: ({ when }) => when,
  });

it("is refused by name without the import, and served with it, with texts for what is wrong", async () => {
  expect(tool).toThrow(/^tool "t": input: zod\/mini cannot write JSON Schema by itself.*import "tenantry\/zod-mini"/);
  await import("../../src/zod-mini.ts");
  expect(tool().wire.inputSchema).toMatchObject({ properties: { when: { type: "string", minLength: 2 } } });
  const parsed = z.safeParse(z.object({ when: z.string() }), { when: 1 });
  expect(parsed.error?.issues[0]?.message).toMatch(/expected string/);
});

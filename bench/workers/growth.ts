// The Worker of `growth.ts`: every feature whose costs may grow with what a tenant has.
import * as z from "zod";
import { admin, callAudit, createWorker, defineTool, gateway } from "../../src/tenantry.ts";
import { WIDE_LIMITS } from "../../test/fixtures/wide-limits.ts";

const add = defineTool({
  name: "add",
  description: "Adds two numbers.",
  input: z.object({ a: z.number(), b: z.number() }),
  handler: ({ a, b }) => String(a + b),
});

const text = defineTool({
  name: "text",
  description: "Answers with a text of so many characters.",
  input: z.object({ length: z.number().int() }),
  handler: ({ length }) => "0123456789abcdef".repeat(length / 16),
});

const worker = createWorker({
  limits: { ...WIDE_LIMITS, keys: 10_000 },
  name: "bench",
  version: "1.0.0",
  tools: [add, text],
  tenants: {},
  features: [admin(), gateway(), callAudit()],
});

export * from "../../src/objects.ts";

export default worker;

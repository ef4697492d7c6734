// The Worker of tools-alone.ts with its tool in zod, as the README has them, for information: a bundler can leave out
// less than half of zod.
import * as z from "zod";
import { createWorker, defineTool } from "../../src/tenantry.ts";
import { WIDE_LIMITS } from "../../test/fixtures/wide-limits.ts";

const add = defineTool({
  name: "add",
  description: "Adds two numbers.",
  input: z.object({ a: z.number().describe("The first number."), b: z.number().describe("The second number.") }),
  handler: ({ a, b }) => String(a + b),
});

const worker = createWorker({
  limits: WIDE_LIMITS,
  name: "bench",
  version: "1.0.0",
  tools: [add],
});

export * from "../../src/objects.ts";

export default worker;

// The Worker under measurement: one tenant with twenty code tools and one stored text.
// Nothing here may be tuned for the benchmark; it is what a user of the package would write.
import * as z from "zod";
import { admin, createWorker, defineTool, login } from "../../src/tenantry.ts";
import { WIDE_LIMITS } from "../../test/fixtures/wide-limits.ts";

const add = defineTool({
  name: "add",
  title: "Add",
  description: "Adds two numbers.",
  input: z.object({ a: z.number().describe("The first number."), b: z.number().describe("The second number.") }),
  handler: ({ a, b }) => String(a + b),
});

const others = Array.from({ length: 19 }, (_, index) =>
  defineTool({
    name: `tool_${index + 1}`,
    description: `Repeats a text, as tool number ${index + 1} of the list.`,
    input: z.object({ text: z.string().describe("What to repeat."), times: z.number().int().min(1).max(9).optional() }),
    handler: ({ text, times = 1 }) => text.repeat(times),
  }),
);

const worker = createWorker({
  limits: WIDE_LIMITS,
  name: "bench",
  version: "1.0.0",
  tools: [add, ...others],
  tenants: {
    bench: {
      search: false,
      seed: () => [{ uri: "bench://text", name: "Text", mimeType: "text/plain", text: "0123456789abcdef".repeat(128) }],
    },
  },
  features: [admin(), login()],
});

export * from "../../src/objects.ts";

export default worker;

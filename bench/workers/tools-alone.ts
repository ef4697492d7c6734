// A Worker with tools and none of the optional features, for its size: what is left is what nobody can do without. Its
// tools are in zod as the README has them: of it, only what they use is in the bundle.
import * as z from "zod";
import { createWorker, defineTool } from "../../src/tenantry.ts";

const add = defineTool({
  name: "add",
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
  name: "bench",
  version: "1.0.0",
  tools: [add, ...others],
});

export const { DirectoryObject, HubObject, SessionObject, StoredRuns, TenantObject } = worker.exports;

export default worker;

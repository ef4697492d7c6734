// A Worker with a tool and none of the optional features, for its size: what is left is what nobody can do without. Its
// tool is in plain JSON Schema, because how much of a schema library comes on top is its author's to choose.
import { createWorker, defineTool } from "../../src/tenantry.ts";

const add = defineTool({
  name: "add",
  description: "Adds two numbers.",
  input: {
    type: "object",
    properties: {
      a: { type: "number", description: "The first number." },
      b: { type: "number", description: "The second number." },
    },
    required: ["a", "b"],
  },
  handler: ({ a, b }) => String(a + b),
});

const worker = createWorker({
  name: "bench",
  version: "1.0.0",
  tools: [add],
});

export * from "../../src/objects.ts";

export default worker;

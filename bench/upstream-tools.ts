// The tools that an upstream of the benchmark has, which a Worker may have in code as well. Data alone: Workers read it too.

/** The ids under which one tenant has the same server, again and again. */
export const UPSTREAMS = ["u1", "u2", "u3", "u4", "u5"];
export const TOOLS_EACH = 100;
/** Before the names of the same tools in code. */
export const CODE = "c";

interface Definition {
  name: string;
  description: string;
  inputSchema: { type: "object"; properties: Record<string, object>; required: string[] };
}

/** The first is `add`. */
export function definitionsOf(): Definition[] {
  const numbers = { type: "object" as const, required: ["a", "b"] };
  const a = { type: "number", description: "The first number." };
  const add = {
    name: "add",
    description: "Adds two numbers.",
    inputSchema: { ...numbers, properties: { a, b: { type: "number", description: "The second number." } } },
  };
  const others = Array.from({ length: TOOLS_EACH - 1 }, (_, index) => ({
    name: `tool_${index + 1}`,
    description: `Repeats a text, as tool number ${index + 1} of the list.`,
    inputSchema: {
      type: "object" as const,
      properties: {
        text: { type: "string", description: "What to repeat." },
        times: { type: "integer", minimum: 1, maximum: 9 },
      },
      required: ["text"],
    },
  }));
  return [add, ...others];
}

import { createWorker, defineTool } from "tenantry";
import * as z from "zod";

export * from "tenantry/objects";

const quote = defineTool({
  name: "quote_shipping",
  description: "What it costs to send a parcel.",
  input: z.object({ weightKg: z.number().positive().max(30) }),
  output: z.object({ price: z.number(), currency: z.string() }),
  handler: ({ weightKg }) => ({ price: 5 + weightKg, currency: "EUR" }),
});

export default createWorker({ name: "shop", tools: [quote] });

// A Worker of your own on tenantry: the tools and the prompt of tools.ts, served to two tenants that see them differently.
// /mcp/acme has everything; /mcp/globex has no rates, so it gets the calendar alone.
import { admin, createWorker } from "tenantry";
import { addWorkdays, quoteShipping, replyToCustomer } from "./tools.ts";

export * from "tenantry/objects";

export default createWorker({
  name: "own-tools",
  version: "1.0.0",
  tools: [quoteShipping, addWorkdays],
  prompts: [replyToCustomer],
  tenants: {
    acme: { title: "Acme", config: { quote_shipping: { base: 4, perKg: 1.5, currency: "EUR" } } },
    globex: { title: "Globex", tools: ["add_workdays"] },
  },
  // The admin API and the command line over it. Without it the tenants below are all there are.
  features: [admin()],
});

// A Worker of your own on tenantry: two tools and a prompt, served to two tenants that see them differently.
// /mcp/acme has everything; /mcp/globex has no rates, so it gets the calendar alone.
import { admin, createWorker, definePrompt, defineTool } from "tenantry";
import * as z from "zod";

const rates = z.object({ base: z.number(), perKg: z.number(), currency: z.string() });

const quoteShipping = defineTool({
  name: "quote_shipping",
  title: "Quote shipping",
  description: "Price of shipping one parcel, by its weight, at the rates of this company.",
  annotations: { readOnlyHint: true, openWorldHint: false },
  input: z.object({ weightKg: z.number().positive().max(70).describe("Weight in kilograms.") }),
  output: z.object({ price: z.number(), currency: z.string() }),
  handler: ({ weightKg }, ctx) => {
    const { base, perKg, currency } = rates.parse(ctx.config);
    const price = Math.round((base + perKg * weightKg) * 100) / 100;
    return { content: `${weightKg} kg ships for ${price} ${currency}.`, structuredContent: { price, currency } };
  },
});

const addWorkdays = defineTool({
  name: "add_workdays",
  title: "Add workdays",
  description: "The date a number of workdays (Monday to Friday) after a date. Knows no public holidays.",
  annotations: { readOnlyHint: true, openWorldHint: false },
  input: z.object({
    date: z.iso.date().describe("Start, YYYY-MM-DD."),
    days: z.int().min(0).max(1000).default(1).describe("Workdays to add."),
  }),
  handler: ({ date, days }) => {
    const day = new Date(`${date}T00:00:00Z`);
    for (let left = days; left > 0;) {
      day.setUTCDate(day.getUTCDate() + 1);
      const isWorkday = day.getUTCDay() !== 0 && day.getUTCDay() !== 6;
      if (isWorkday) left--;
    }
    return day.toISOString().slice(0, 10);
  },
});

const replyToCustomer = definePrompt({
  name: "reply_to_customer",
  title: "Reply to a customer",
  description: "Drafts an answer to a customer's question about a delivery.",
  arguments: {
    question: { description: "What the customer wrote.", required: true },
    tone: {
      description: "How it should sound.",
      complete: (value) => ["friendly", "formal", "short"].filter((tone) => tone.startsWith(value)),
    },
  },
  handler: ({ question, tone }) =>
    `Draft a ${tone ?? "friendly"} reply to this customer. Use the tools for prices and dates.\n\n${question}`,
});

const worker = createWorker({
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

export const { ContentObject, DirectoryObject, HubObject, PlatformObject, SessionObject, StoredRuns, TenantObject } =
  worker.exports;

export default worker;

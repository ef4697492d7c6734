// Two tools and a prompt. They know no Worker: test/tools.test.ts runs them in plain Node.
import { definePrompt, defineTool } from "tenantry";
import * as z from "zod";

export const quoteShipping = defineTool({
  name: "quote_shipping",
  title: "Quote shipping",
  description: "Price of shipping one parcel, by its weight, at the rates of this company.",
  annotations: { readOnlyHint: true, openWorldHint: false },
  input: z.object({ weightKg: z.number().positive().max(70).describe("Weight in kilograms.") }),
  output: z.object({ price: z.number(), currency: z.string() }),
  config: z.object({ base: z.number(), perKg: z.number(), currency: z.string() }),
  handler: ({ weightKg }, ctx) => {
    const { base, perKg, currency } = ctx.config;
    const price = Math.round((base + perKg * weightKg) * 100) / 100;
    return { content: `${weightKg} kg ships for ${price} ${currency}.`, structuredContent: { price, currency } };
  },
});

export const addWorkdays = defineTool({
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

export const replyToCustomer = definePrompt({
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

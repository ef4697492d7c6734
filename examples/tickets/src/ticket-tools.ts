// Owns what a model can do with the tickets of the company that it works for.

import { definePrompt, defineTemplate, defineTool, UserError, type Context } from "tenantry";
import * as z from "zod";
import { TicketStore } from "./ticket-store.ts";

const DAY_MS = 86_400_000;

const ticket = z.object({
  id: z.int(),
  title: z.string(),
  state: z.enum(["open", "closed"]),
  due: z.string().nullable(),
});

function storeOf(ctx: Pick<Context, "env" | "tenant">): TicketStore {
  return new TicketStore(ctx.env.DB, ctx.tenant.id);
}

export const listTickets = defineTool({
  name: "list_tickets",
  description: "The tickets of this company, oldest first, in pages.",
  annotations: { readOnlyHint: true },
  input: z.object({ after: z.int().optional().describe("`next` of the page before.") }),
  output: z.object({ tickets: z.array(ticket), next: z.int().optional() }),
  handler: ({ after }, ctx) => storeOf(ctx).list(after),
});

export const openTicket = defineTool({
  name: "open_ticket",
  description: "Opens a ticket.",
  input: z.object({ title: z.string().min(1).max(200), due: z.iso.date().optional() }),
  output: ticket,
  config: z.object({ dueInDays: z.int().positive() }),
  handler: async ({ title, due }, ctx) => {
    const usual = new Date(Date.now() + ctx.config.dueInDays * DAY_MS).toISOString().slice(0, 10);
    const opened = await storeOf(ctx).open(title, due ?? usual);
    await ctx.announce({ resources: true });
    return opened;
  },
});

export const closeTicket = defineTool({
  name: "close_ticket",
  description: "Closes a ticket after the person has confirmed.",
  annotations: { destructiveHint: true },
  input: z.object({ id: z.int() }),
  handler: async ({ id }, ctx) => {
    const store = storeOf(ctx);
    const found = await store.find(id);
    if (!found) throw new UserError(`There is no ticket ${id}.`);
    const answer = await ctx.elicit("sure", {
      message: `Close "${found.title}"?`,
      schema: z.object({ close: z.boolean().default(true) }),
    });
    if (answer.action !== "accept" || !answer.content.close) return `Ticket ${id} stays open.`;
    if (!(await store.close(id))) return `Ticket ${id} was closed already.`;
    await ctx.announce({ updated: [`ticket://${id}`] });
    // Nobody waits for the history.
    ctx.waitUntil(store.note(id, "closed", ctx.principal.id));
    return `Ticket ${id} is closed.`;
  },
});

export const ticketTemplate = defineTemplate({
  uriTemplate: "ticket://{id}",
  name: "Ticket",
  mimeType: "application/json",
  read: async ({ id }, ctx) => {
    const found = await storeOf(ctx).find(Number(id));
    if (!found) throw new UserError(`There is no ticket ${id}.`);
    return JSON.stringify(found);
  },
  list: async ({ cursor = "0", limit }, ctx) => {
    const { tickets, next } = await storeOf(ctx).list(Number(cursor), limit);
    const resources = tickets.map(({ id, title }) => ({ uri: `ticket://${id}`, name: title }));
    return next === undefined ? { resources } : { resources, nextCursor: String(next) };
  },
});

export const triage = definePrompt({
  name: "triage",
  description: "Sorts the open tickets by what they cost.",
  arguments: { team: { description: "Who works on them.", required: true } },
  handler: ({ team }) => `List the open tickets with list_tickets and sort them for ${team}: what costs most first.`,
});

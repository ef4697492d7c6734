// Owns the Worker: who the companies are, in D1, and what is done without anybody calling.

import { createWorker } from "tenantry";
import { companiesWithOverdue } from "./ticket-store.ts";
import { closeTicket, listTickets, openTicket, ticketTemplate, triage } from "./ticket-tools.ts";

interface Company {
  readonly title: string;
  /** JSON: the tools that the company has; null: all. */
  readonly tools: string | null;
}

const mcp = createWorker({
  name: "tickets",
  tools: [listTickets, openTicket, closeTicket],
  resources: [ticketTemplate],
  prompts: [triage],
  tenants: async (id, env: Env) => {
    const company = await env.DB.prepare("SELECT title, tools FROM companies WHERE id = ?").bind(id).first<Company>();
    if (!company) return undefined;
    const { title, tools } = company;
    return { title, ...(tools === null ? {} : { tools: JSON.parse(tools) as string[] }) };
  },
});

export const { ContentObject, DirectoryObject, HubObject, SessionObject, StoredRuns, TenantObject } = mcp.exports;

export default {
  fetch: mcp.fetch,
  /** Each morning: who watches a company's tickets hears that some are overdue. */
  scheduled: async ({ scheduledTime }, env) => {
    const today = new Date(scheduledTime).toISOString().slice(0, 10);
    for (const company of await companiesWithOverdue(env.DB, today)) {
      await mcp.tenant(env, company).announce({ resources: true });
    }
  },
} satisfies ExportedHandler<Env>;

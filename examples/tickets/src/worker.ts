// Owns the Worker: the tools, the companies that have them, and what is done each morning without anybody calling.

import { createWorker } from "tenantry";
import { companyOf } from "./companies.ts";
import { companiesWithOverdue } from "./ticket-store.ts";
import { closeTicket, listTickets, openTicket, ticketTemplate, triage } from "./ticket-tools.ts";

const mcp = createWorker({
  name: "tickets",
  tools: [listTickets, openTicket, closeTicket],
  resources: [ticketTemplate],
  prompts: [triage],
  tenants: companyOf,
});

export * from "tenantry/objects";

export default {
  fetch: mcp.fetch,
  /** Whoever watches the tickets of a company hears that some are overdue. */
  scheduled: async ({ scheduledTime }, env) => {
    const today = new Date(scheduledTime).toISOString().slice(0, 10);
    for (const { company, ids } of await companiesWithOverdue(env.DB, today)) {
      await mcp.tenant(env, company).announce({ updated: ids.map((id) => `ticket://${id}`) });
    }
  },
} satisfies ExportedHandler<Env>;

// Owns the routes for what people let clients do, and for those clients: seen, and ended by the lease rule. Refuses a Worker
// at which nobody signs in.

import type { GrantReport, LoginClientReport } from "../../deployment/deployment.ts";
import { acknowledge } from "../apply/acknowledge.ts";
import { isoTime } from "../apply/in-force.ts";
import { findManaged, readRecord } from "../apply/tenant-access.ts";
import type { GrantShape, LoginClientShape, Infer } from "../contract.ts";
import { pageFrom, positionOf } from "../page.ts";
import { lackingFeature } from "../problem.ts";
import { routes, type Desk } from "../route.ts";
import { GRANT_ENDPOINTS } from "../endpoints/access-endpoints.ts";

export const grantRoutes = routes(GRANT_ENDPOINTS, {
  "GET /tenants/{id}/grants": async (call) => {
    const { principal, limit } = call.query;
    const { logins } = await reach(call, call.params.id);
    const rows = await logins.grants(positionOf("grants", call.query) ?? "", limit + 1, principal);
    return { body: pageFrom("grants", rows.map(grantShown), limit, ({ id }) => id) };
  },
  "DELETE /tenants/{id}/grants/{grant}": async (call) => {
    const { logins, managed } = await reach(call, call.params.id);
    return acknowledge(managed, await logins.endGrant(call.params.grant, call.caller), call);
  },
  "GET /tenants/{id}/login-clients": async (call) => {
    const { limit } = call.query;
    const { logins } = await reach(call, call.params.id);
    const rows = await logins.clients(positionOf("login-clients", call.query) ?? "", limit + 1);
    return { body: pageFrom("login-clients", rows.map(clientShown), limit, ({ id }) => id) };
  },
  "DELETE /tenants/{id}/login-clients/{client}": async (call) => {
    const { logins, managed } = await reach(call, call.params.id);
    return acknowledge(managed, await logins.endClient(call.params.client, call.caller), call);
  },
});

async function reach(desk: Desk, id: string) {
  const logins = desk.options.features?.find((feature) => feature.logins)?.logins;
  if (!logins) throw lackingFeature("Grants need the feature login()");
  const managed = await findManaged(desk, id);
  await readRecord(managed);
  return { managed, logins: logins(managed.stub()) };
}

function grantShown(grant: GrantReport): Infer<typeof GrantShape> {
  const { id, client, principal, person, resource, profile, scopes, narrowing, created, usedAt, expires } = grant;
  return {
    id,
    client: { id: client.id, name: client.name },
    principal,
    person: { name: person.name ?? null, email: person.email ?? null },
    url: resource,
    profile,
    scopes: scopes as string[] | null,
    deny: narrowing.deny as string[],
    allow: (narrowing.allow as string[] | undefined) ?? null,
    toolsOnly: narrowing.toolsOnly ?? false,
    created: isoTime(created),
    lastUsed: isoTime(usedAt),
    expires: isoTime(expires),
  };
}

function clientShown({ id, kind, name, redirects, usedAt }: LoginClientReport): Infer<typeof LoginClientShape> {
  return { id, kind, name, redirects: redirects as string[], lastUsed: isoTime(usedAt) };
}

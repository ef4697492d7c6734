// Routes for the grants that people gave to clients, and for those clients. A revocation is in effect once the leases
// have expired. Needs the feature login().

import type { GrantReport, LoginClientReport } from "../../deployment/deployment.ts";
import { confirmWithdrawal, isoTime } from "../services/propagation.ts";
import { requireTenant, requireTenantRecord } from "../services/tenant-handle.ts";
import type { GrantShape, LoginClientShape, Infer } from "../contract.ts";
import { paginateRows, parsePosition } from "../page.ts";
import { missingFeature } from "../problem.ts";
import { defineRoutes, type AdminContext } from "../route.ts";
import { GRANT_ENDPOINTS } from "../endpoints/access-endpoints.ts";

export const grantRoutes = defineRoutes(GRANT_ENDPOINTS, {
  "GET /tenants/{id}/grants": async (context) => {
    const { principal, limit } = context.query;
    const { logins } = await getLogins(context, context.params.id);
    const rows = await logins.grants(parsePosition("grants", context.query) ?? "", limit + 1, principal);
    return { body: paginateRows("grants", rows.map(toGrantShape), limit, ({ id }) => id) };
  },
  "DELETE /tenants/{id}/grants/{grant}": async (context) => {
    const { logins, managed: handle } = await getLogins(context, context.params.id);
    return confirmWithdrawal(handle, await logins.endGrant(context.params.grant, context.caller), context);
  },
  "GET /tenants/{id}/login-clients": async (context) => {
    const { limit } = context.query;
    const { logins } = await getLogins(context, context.params.id);
    const rows = await logins.clients(parsePosition("login-clients", context.query) ?? "", limit + 1);
    return { body: paginateRows("login-clients", rows.map(toClientShape), limit, ({ id }) => id) };
  },
  "DELETE /tenants/{id}/login-clients/{client}": async (context) => {
    const { logins, managed: handle } = await getLogins(context, context.params.id);
    return confirmWithdrawal(handle, await logins.endClient(context.params.client, context.caller), context);
  },
});

async function getLogins(context: AdminContext, id: string) {
  const logins = context.options.features?.find((feature) => feature.logins)?.logins;
  if (!logins) throw missingFeature("Grants need the feature login()");
  const handle = await requireTenant(context, id);
  await requireTenantRecord(handle);
  return { managed: handle, logins: logins(handle.stub()) };
}

function toGrantShape(grant: GrantReport): Infer<typeof GrantShape> {
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

function toClientShape({ id, kind, name, redirects, usedAt }: LoginClientReport): Infer<typeof LoginClientShape> {
  return { id, kind, name, redirects: redirects as string[], lastUsed: isoTime(usedAt) };
}

// Routes for base documents. Writing a base changes no tenant. Each tenant takes the new base when its document is
// next applied, or in a rollout.

import { createRpcClient } from "../../tenants/object/store.ts";
import { baseStore } from "../platform/base-store.ts";
import { baseDocumentErrors } from "../services/document-rules.ts";
import { rolloutsOf } from "../services/platform-blocks.ts";
import { preconditionFailed, ifMatchOf, quoteEtag } from "../etag.ts";
import { paginateRows, parsePosition } from "../page.ts";
import { platformStubOf } from "../platform/platform-object.ts";
import { notFound, ProblemError } from "../problem.ts";
import { defineRoutes, type AdminEnv, type AdminContext } from "../route.ts";
import { policyOfAnyUid, findTenantByName } from "../services/tenant-handle.ts";
import { BASE_ENDPOINTS } from "../endpoints/rollout-endpoints.ts";

const baseRpcOf = (env: AdminEnv) => createRpcClient(platformStubOf(env), baseStore);

export const baseRoutes = defineRoutes(BASE_ENDPOINTS, {
  "GET /bases": async ({ env, query }) => {
    const rows = await baseRpcOf(env).bases(parsePosition("bases", query) ?? "", query.limit + 1);
    return { body: paginateRows("bases", rows, query.limit, ({ name }) => name) };
  },
  "GET /bases/{name}": async ({ env, params }) => {
    const base = await baseRpcOf(env).base(params.name);
    if (!base) throw notFound(`base ${params.name}`);
    return { body: base.document, headers: { etag: quoteEtag(base.revision) } };
  },
  "PUT /bases/{name}": async (context) => {
    const { env, caller, request } = context;
    const { name } = context.params;
    const document = context.body;
    const stored = await baseRpcOf(env).base(name);
    const errors = baseDocumentErrors(context, document, stored?.document ?? {});
    if (errors.length > 0) throw new ProblemError("invalid-input", { errors });
    const expected = await expectedRevision(env, name, ifMatchOf(request));
    const result = await baseRpcOf(env).putBase(name, document, expected, caller);
    if (result.state === "conflict") throw preconditionFailed(result.revision === 0 ? null : result.revision);
    const created = result.state === "written" && result.created;
    return {
      status: created ? 201 : 200,
      body: { revision: result.revision, changed: result.state === "written", effectiveAt: null },
      headers: { etag: quoteEtag(result.revision) },
    };
  },
  "POST /bases/{name}/rollout": async ({ env, params, body, caller }) => {
    const rollout = await rolloutsOf(env).startRollout(params.name, body.dryRun ?? false, caller);
    if (rollout === undefined) throw notFound(`base ${params.name}`);
    return { status: 202, body: { rollout } };
  },
  "DELETE /bases/{name}": async (context) => {
    const { name } = context.params;
    await removeStaleUses(context, name);
    const remaining = await baseRpcOf(context.env).removeBase(name, context.caller);
    if (remaining === null) throw notFound(`base ${name}`);
    if (remaining > 0) throw new ProblemError("conflict", { detail: `Tenants still extend it: ${remaining}` });
    return {};
  },
});

/** The revision that must be current; null for no condition. Throws if If-Match does not hold. */
async function expectedRevision(
  env: AdminEnv,
  name: string,
  ifMatch: readonly string[] | null,
): Promise<number | null> {
  if (ifMatch === null) return null;
  const revision = (await baseRpcOf(env).base(name))?.revision;
  if (revision === undefined) throw preconditionFailed(null);
  if (!ifMatch.includes("*") && !ifMatch.includes(String(revision))) throw preconditionFailed(revision);
  return revision;
}

/** The most tenants to check for whether they still extend a base. */
const MAX_CHECKED_USES = 20;

/**
 * Removes uses that the tenants' documents do not have. A write that was rejected or cut off leaves such a use
 * behind.
 */
async function removeStaleUses(context: AdminContext, base: string): Promise<void> {
  const bases = baseRpcOf(context.env);
  for (const { tenant, created } of await bases.listUsers(base, MAX_CHECKED_USES)) {
    const { entry, declared } = await findTenantByName(context, tenant);
    // A tenant that was never created does not use a base.
    const record = declared || entry ? await policyOfAnyUid(context, tenant, entry).read(entry === null) : undefined;
    const isSameTenant = record && ["", record.created].includes(created);
    if (!isSameTenant || !record.own.extends?.includes(base)) await bases.removeUse(base, { id: tenant, created });
  }
}

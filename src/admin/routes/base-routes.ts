// Routes for base documents. Writing one changes no tenant: those that extend it take it when they are applied next, or all of
// them by a rollout.

import { remote } from "../../tenants/authority/tables.ts";
import { baseTables } from "../platform/base-tables.ts";
import { brokenBase } from "../apply/document-rules.ts";
import { rolloutsOf } from "../apply/stopped-everywhere.ts";
import { changedMeanwhile, ifMatchOf, quoted } from "../etag.ts";
import { pageFrom, positionOf } from "../page.ts";
import { platformOf } from "../platform/platform-door.ts";
import { notFound, ProblemError } from "../problem.ts";
import { routes, type AdminEnv, type Desk } from "../route.ts";
import { anyOf, namedBy } from "../apply/tenant-access.ts";
import { BASE_ENDPOINTS } from "../endpoints/rollout-endpoints.ts";

const basesOf = (env: AdminEnv) => remote(platformOf(env), baseTables);

export const baseRoutes = routes(BASE_ENDPOINTS, {
  "GET /bases": async ({ env, query }) => {
    const rows = await basesOf(env).bases(positionOf("bases", query) ?? "", query.limit + 1);
    return { body: pageFrom("bases", rows, query.limit, ({ name }) => name) };
  },
  "GET /bases/{name}": async ({ env, params }) => {
    const base = await basesOf(env).base(params.name);
    if (!base) throw notFound(`base ${params.name}`);
    return { body: base.document, headers: { etag: quoted(base.revision) } };
  },
  "PUT /bases/{name}": async (call) => {
    const { env, caller, request } = call;
    const { name } = call.params;
    const document = call.body;
    const stored = await basesOf(env).base(name);
    const errors = brokenBase(call, document, stored?.document ?? {});
    if (errors.length > 0) throw new ProblemError("invalid-input", { errors });
    const expected = await expectedRevision(env, name, ifMatchOf(request));
    const done = await basesOf(env).putBase(name, document, expected, caller);
    if (done.state === "conflict") throw changedMeanwhile(done.revision === 0 ? null : done.revision);
    const created = done.state === "written" && done.created;
    return {
      status: created ? 201 : 200,
      body: { revision: done.revision, changed: done.state === "written", effectiveAt: null },
      headers: { etag: quoted(done.revision) },
    };
  },
  "POST /bases/{name}/rollout": async ({ env, params, body, caller }) => {
    const rollout = await rolloutsOf(env).rollOut(params.name, body.dryRun ?? false, caller);
    if (rollout === undefined) throw notFound(`base ${params.name}`);
    return { status: 202, body: { rollout } };
  },
  "DELETE /bases/{name}": async (call) => {
    const { name } = call.params;
    await forgetUses(call, name);
    const left = await basesOf(call.env).removeBase(name, call.caller);
    if (left === null) throw notFound(`base ${name}`);
    if (left > 0) throw new ProblemError("conflict", { detail: `Tenants extend it still: ${left}` });
    return {};
  },
});

/** The revision that must be current; null for no condition. Throws when If-Match does not hold. */
async function expectedRevision(
  env: AdminEnv,
  name: string,
  ifMatch: readonly string[] | null,
): Promise<number | null> {
  if (ifMatch === null) return null;
  const revision = (await basesOf(env).base(name))?.revision;
  if (revision === undefined) throw changedMeanwhile(null);
  if (!ifMatch.includes("*") && !ifMatch.includes(String(revision))) throw changedMeanwhile(revision);
  return revision;
}

/** How many tenants are asked whether they still extend a base. */
const CHECKED = 20;

/** Forgets uses that their tenants do not have: a write that was refused or cut off leaves such a use behind. */
async function forgetUses(desk: Desk, base: string): Promise<void> {
  const bases = basesOf(desk.env);
  for (const { tenant, created } of await bases.uses(base, CHECKED)) {
    const { entry, declared } = await namedBy(desk, tenant);
    // A tenant that was never made does not use a base.
    const record = declared || entry ? await anyOf(desk, tenant, entry).read(entry === null) : undefined;
    const isIt = record && ["", record.created].includes(created);
    if (!isIt || !record.own.extends?.includes(base)) await bases.release(base, { id: tenant, created });
  }
}

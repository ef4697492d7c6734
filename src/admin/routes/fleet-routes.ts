// Owns the routes for rolling a base document out over the tenants that extend it. The request that begins a run takes its first
// step; the platform's object begins the others by itself.

import type { TenantDocument } from "../../tenants/document/tenant-document.ts";
import { FleetApply, FleetRun, pageShapeOf, type Infer } from "../contract.ts";
import { brokenBase } from "../apply/document-rules.ts";
import { remote } from "../../tenants/authority/tables.ts";
import { baseTables } from "../platform/base-tables.ts";
import { platformOf } from "../platform/platform-door.ts";
import { fleetOf, runName, takeFleetStep } from "../apply/fleet-step.ts";
import type { RunRecord } from "../platform/fleet-records.ts";
import { fromNow, isoTime, untilInForce } from "../apply/in-force.ts";
import { NUMBER, pageFrom, positionOf } from "../page.ts";
import { notFound, ProblemError } from "../problem.ts";
import { PageQuery, ROLES, route, type Desk, type Route } from "../route.ts";
import { matching, object } from "../shapes.ts";

const DEFAULT_WAVE = 25;

const RunParams = object({
  id: matching(/^run-[1-9]\d{0,11}$/, "the id of a run, run-1 or later"),
});
const numberOf = (name: string) => Number(name.slice("run-".length));
const BEGUN = {
  status: 200,
  schema: FleetRun,
  about: "The run as it stands: done, or stopped and why, or running, which goes on by itself",
};

export const fleetRoutes: readonly Route[] = [
  route({
    method: "post",
    path: "/fleet/apply",
    summary: "Write a base document and apply it to every tenant that extends it; dryRun says what would change",
    roles: ROLES.platform,
    body: FleetApply,
    replies: [BEGUN],
    handle: async (call) => {
      const { base, wave = DEFAULT_WAVE, dryRun = false, continueOnError = false } = call.body;
      const document = call.body.document as TenantDocument;
      const stored = await remote(platformOf(call.env), baseTables).base(base);
      const errors = brokenBase(call, document, stored?.document ?? {});
      if (errors.length > 0) throw new ProblemError("invalid-input", { errors });
      const run = await fleetOf(call.env).startRun({ base, document, wave, dryRun, continueOnError }, call.caller);
      return { body: shown(await firstStep(call, run)) };
    },
  }),
  route({
    method: "get",
    path: "/fleet/runs",
    summary: "List the latest runs",
    roles: ROLES.platformRead,
    query: object({}, PageQuery),
    replies: [{ status: 200, schema: pageShapeOf(FleetRun), about: "Runs, newest first" }],
    handle: async ({ env, query }) => {
      const limit = Math.min(query.limit, 50);
      const before = positionOf("runs", query, NUMBER);
      const rows = await fleetOf(env).runs(before === undefined ? null : Number(before), limit + 1);
      const { items, ...more } = pageFrom("runs", rows, limit, ({ id }) => String(id));
      return { body: { items: items.map(shown), ...more } };
    },
  }),
  route({
    method: "get",
    path: "/fleet/runs/{id}",
    summary: "Show a run",
    roles: ROLES.platformRead,
    params: RunParams,
    replies: [{ status: 200, schema: FleetRun, about: "The run" }],
    handle: async ({ env, params }) => {
      const run = await fleetOf(env).run(numberOf(params.id));
      if (!run) throw notFound(params.id);
      return { body: shown(run) };
    },
  }),
  route({
    method: "post",
    path: "/fleet/runs/{id}/resume",
    summary: "Go on with a run that stopped, the tenants that failed included",
    roles: ROLES.platform,
    params: RunParams,
    replies: [BEGUN],
    handle: async (call) => {
      const { id } = call.params;
      const taken = await fleetOf(call.env).takeUp(numberOf(id), call.caller);
      if (!taken) throw notFound(id);
      if (taken.newer !== null) {
        throw new ProblemError("conflict", { detail: `A later run, ${runName(taken.newer)}, took this one's place` });
      }
      return { body: shown(await firstStep(call, taken.run)) };
    },
  }),
  route({
    method: "post",
    path: "/fleet/runs/{id}/stop",
    summary: "Stop a run after the tenants that are being changed; resume goes on with it",
    roles: ROLES.platform,
    params: RunParams,
    replies: [{ status: 200, schema: FleetRun, about: "The run: stopped, or done already" }],
    handle: async ({ env, params }) => {
      const run = await fleetOf(env).stop(numberOf(params.id));
      if (!run) throw notFound(params.id);
      return { body: shown(run) };
    },
  }),
];

async function firstStep(desk: Desk, begun: RunRecord): Promise<RunRecord> {
  const run = await takeFleetStep(desk, begun);
  await untilInForce(fromNow(run.leftMs));
  return run;
}

function shown(run: RunRecord): Infer<typeof FleetRun> {
  const { id, base, state, dryRun, continueOnError, created, total, done, failed, changes, effectiveAt } = run;
  return {
    id: runName(id),
    base,
    state,
    dryRun,
    continueOnError,
    created,
    total,
    done,
    failed: failed.map(({ tenant, error, errors }) => ({ tenant, error, errors: [...errors] })),
    ...(dryRun ? { changes: changes.map((one) => ({ tenant: one.tenant, changes: [...one.changes] })) } : {}),
    effectiveAt: isoTime(effectiveAt === 0 ? null : effectiveAt),
  };
}

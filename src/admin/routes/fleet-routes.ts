// Owns rolling a base document out over the tenants that extend it: in waves, a few tenants at a time, each with its
// outcome written down before the next wave. Whoever comes after can go on where this invocation ended.

import type { TenantDocument } from "../../tenants/document/tenant-document.ts";
import { remote } from "../../tenants/authority/tables.ts";
import { applyDocument } from "../apply/apply-document.ts";
import { FleetApply, FleetRun, pageShapeOf, type Infer } from "../contract.ts";
import { tooLarge } from "../apply/document-rules.ts";
import { fleetTables, type RunRecord, type RunResult } from "../platform/fleet-tables.ts";
import { isoTime, untilInForce } from "../apply/in-force.ts";
import { inLanes } from "../apply/lanes.ts";
import { pageFrom, positionOf } from "../page.ts";
import { platformOf } from "../platform/platform-object.ts";
import { notFound, ProblemError } from "../problem.ts";
import { PageQuery, ROLES, route, type AdminEnv, type Desk, type Route } from "../route.ts";
import { matching, object } from "../shapes.ts";
import { findManaged, readRecord } from "../apply/tenant-access.ts";

const DEFAULT_WAVE = 25;
/** An invocation may make 10,000 calls; a tenant takes six. */
const TENANTS_AT_ONCE = 1500;

const RunParams = object({
  id: matching(/^run-[1-9]\d{0,11}$/, "the id of a run, run-1 or later"),
});
const nameOf = (id: number) => `run-${id}`;
const numberOf = (name: string) => Number(name.slice("run-".length));
const ENDED = { status: 200, schema: FleetRun, about: "The run as it stands: done, or stopped and why" };
const fleetOf = (env: AdminEnv) => remote(platformOf(env), fleetTables);

export const fleetRoutes: readonly Route[] = [
  route({
    method: "post",
    path: "/fleet/apply",
    summary: "Write a base document and apply it to every tenant that extends it; dryRun says what would change",
    roles: ROLES.platform,
    body: FleetApply,
    replies: [ENDED],
    handle: async (call) => {
      const { base, wave = DEFAULT_WAVE, dryRun = false, continueOnError = false } = call.body;
      const document = call.body.document as TenantDocument;
      const errors = tooLarge(document);
      if (errors.length > 0) throw new ProblemError("invalid-input", { errors });
      const run = await fleetOf(call.env).startRun({ base, document, wave, dryRun, continueOnError }, call.caller);
      return { body: shown(await goOn(call, run)) };
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
      const before = positionOf("runs", query);
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
    summary: "Go on with a run, the tenants that failed included",
    roles: ROLES.platform,
    params: RunParams,
    replies: [ENDED],
    handle: async (call) => {
      const { id } = call.params;
      const taken = await fleetOf(call.env).takeUp(numberOf(id));
      if (!taken) throw notFound(id);
      if (taken.newer !== null) {
        throw new ProblemError("conflict", { detail: `A later run, ${nameOf(taken.newer)}, took this one's place` });
      }
      return { body: shown(await goOn(call, taken.run)) };
    },
  }),
];

async function goOn(desk: Desk, begun: RunRecord): Promise<RunRecord> {
  const fleet = fleetOf(desk.env);
  let run = begun;
  for (let tenants = 0; run.state === "running"; tenants += run.wave) {
    if (tenants >= TENANTS_AT_ONCE) {
      run = await fleet.pause(run.id);
      break;
    }
    const wave = await fleet.pending(run.id, run.wave);
    const outcomes = await inLanes(wave, (tenant) => applyTo(desk, run, tenant));
    const effectiveAt = Math.max(0, ...outcomes.map((outcome) => outcome.effectiveAt));
    run = await fleet.report(
      run.id,
      outcomes.map(({ result }) => result),
      effectiveAt,
    );
  }
  await untilInForce(run.effectiveAt);
  return run;
}

interface TenantOutcome {
  readonly result: RunResult;
  readonly effectiveAt: number;
}

/** Never rejects: what fails becomes the tenant's outcome. */
async function applyTo(desk: Desk, { id, base, document, dryRun }: RunRecord, tenant: string): Promise<TenantOutcome> {
  try {
    const managed = await findManaged(desk, tenant);
    const { own } = await readRecord(managed);
    if (!own.extends?.includes(base)) return nothing(tenant);
    const { changes, effectiveAt } = await applyDocument(desk, managed, {
      edit: (now) => now,
      ifMatch: null,
      dryRun,
      wait: "never",
      action: `fleet ${nameOf(id)}`,
      ...(dryRun ? { supposing: { base, document } } : {}),
    });
    return { result: { tenant, state: "done", changes }, effectiveAt: effectiveAt ?? 0 };
  } catch (error) {
    // Deleted meanwhile: there is nothing to do.
    if (error instanceof ProblemError && error.key === "not-found") return nothing(tenant);
    return { result: { tenant, state: "failed", ...reasonOf(desk, error) }, effectiveAt: 0 };
  }
}

function nothing(tenant: string): TenantOutcome {
  return { result: { tenant, state: "done", changes: [] }, effectiveAt: 0 };
}

function reasonOf({ options }: Desk, error: unknown): Pick<RunResult & { state: "failed" }, "error" | "errors"> {
  if (!(error instanceof ProblemError)) {
    options.onError?.(error);
    return { error: "failed here; the reason is in the Worker's logs", errors: [] };
  }
  const errors = error.about.errors ?? [];
  const rules = errors.map(({ field, rule }) => (field === "" ? rule : `${field}: ${rule}`));
  return { error: [error.message, ...rules].join("; "), errors };
}

function shown(run: RunRecord): Infer<typeof FleetRun> {
  const { id, base, state, dryRun, continueOnError, created, total, done, failed, changes, effectiveAt } = run;
  return {
    id: nameOf(id),
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

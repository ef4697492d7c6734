// Routes that show the progress of rollouts, and stop a rollout of a base.

import { rolloutsOf } from "../services/platform-blocks.ts";
import type { RolloutRecord } from "../platform/rollout-store.ts";
import { NUMBER_POSITION, paginateRows, parsePosition } from "../page.ts";
import { notFound, ProblemError } from "../problem.ts";
import { defineRoutes } from "../route.ts";
import { ROLLOUT_ENDPOINTS } from "../endpoints/rollout-endpoints.ts";

export const rolloutRoutes = defineRoutes(ROLLOUT_ENDPOINTS, {
  "GET /rollouts": async ({ env, query }) => {
    const limit = Math.min(query.limit, 50);
    const before = parsePosition("rollouts", query, NUMBER_POSITION);
    const rows = await rolloutsOf(env).rollouts(before === undefined ? null : Number(before), limit + 1);
    const { items, ...more } = paginateRows("rollouts", rows, limit, ({ version }) => String(version));
    return { body: { items: items.map(toRollout), ...more } };
  },
  "GET /rollouts/{version}": async ({ env, params }) => {
    const found = await rolloutsOf(env).rollout(Number(params.version));
    if (!found) throw notFound(`rollout ${params.version}`);
    return { body: toRollout(found) };
  },
  "POST /rollouts/{version}/stop": async ({ env, params }) => {
    const version = Number(params.version);
    const isStopped = await rolloutsOf(env).stopRollout(version);
    const found = await rolloutsOf(env).rollout(version);
    if (!found) throw notFound(`rollout ${params.version}`);
    if (!isStopped && found.state !== "stopped") {
      throw new ProblemError("conflict", { detail: "Only a running rollout of a base can be stopped" });
    }
    return { body: toRollout(found) };
  },
});

function toRollout(found: RolloutRecord): Omit<RolloutRecord, "leftMs"> {
  const { version, about, state, actor, begun, tenants, missing, refused, changes } = found;
  return { version, about, state, actor, begun, tenants, missing, refused, ...(changes && { changes }) };
}

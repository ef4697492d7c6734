// Routes that show how far a rollout is, of blocks or of a base, and stop one of a base.

import { pageShapeOf, Rollout } from "../contract.ts";
import { rolloutsOf } from "../apply/stopped-everywhere.ts";
import type { RolloutRecord } from "../platform/rollout-tables.ts";
import { NUMBER, pageFrom, positionOf } from "../page.ts";
import { notFound, ProblemError } from "../problem.ts";
import { PageQuery, ROLES, route, type Route } from "../route.ts";
import { matching, object } from "../schema-parts.ts";

const RolloutParams = object({
  version: matching(/^[1-9]\d{0,15}$/, "a version, as the answer to the change says it"),
});

export const rolloutRoutes: readonly Route[] = [
  route({
    method: "get",
    path: "/rollouts",
    summary: "List the latest rollouts",
    roles: ROLES.platformRead,
    query: object(PageQuery),
    replies: [{ status: 200, schema: pageShapeOf(Rollout), about: "Rollouts, newest first" }],
    handle: async ({ env, query }) => {
      const limit = Math.min(query.limit, 50);
      const before = positionOf("rollouts", query, NUMBER);
      const rows = await rolloutsOf(env).rollouts(before === undefined ? null : Number(before), limit + 1);
      const { items, ...more } = pageFrom("rollouts", rows, limit, ({ version }) => String(version));
      return { body: { items: items.map(shown), ...more } };
    },
  }),
  route({
    method: "get",
    path: "/rollouts/{version}",
    summary: "Show how far a rollout is",
    roles: ROLES.platformRead,
    params: RolloutParams,
    replies: [{ status: 200, schema: Rollout, about: "The rollout" }],
    handle: async ({ env, params }) => {
      const found = await rolloutsOf(env).rollout(Number(params.version));
      if (!found) throw notFound(`rollout ${params.version}`);
      return { body: shown(found) };
    },
  }),
  route({
    method: "post",
    path: "/rollouts/{version}/stop",
    summary:
      "Stop the rollout of a base after the tenants that are being changed; another rollout brings it to the others",
    roles: ROLES.platform,
    params: RolloutParams,
    replies: [{ status: 200, schema: Rollout, about: "The rollout: stopped" }],
    handle: async ({ env, params }) => {
      const version = Number(params.version);
      const isStopped = await rolloutsOf(env).stop(version);
      const found = await rolloutsOf(env).rollout(version);
      if (!found) throw notFound(`rollout ${params.version}`);
      if (!isStopped && found.state !== "stopped") {
        throw new ProblemError("conflict", { detail: "Only the rollout of a base that is under way can be stopped" });
      }
      return { body: shown(found) };
    },
  }),
];

function shown(found: RolloutRecord): Omit<RolloutRecord, "leftMs"> {
  const { version, about, state, actor, begun, tenants, missing, refused, changes } = found;
  return { version, about, state, actor, begun, tenants, missing, refused, ...(changes && { changes }) };
}

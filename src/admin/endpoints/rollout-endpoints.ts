// Routes of the admin API: rollout.

import { Rollout, pageShapeOf } from "../contract.ts";
import { PageQuery, ROLES, endpoints } from "../endpoint.ts";
import { matching, object } from "../schema-parts.ts";

const RolloutParams = object({
  version: matching(/^[1-9]\d{0,15}$/, "a version, as the answer to the change says it"),
});

export const ROLLOUT_ENDPOINTS = endpoints({
  "GET /rollouts": {
    summary: "List the latest rollouts",
    roles: ROLES.platformRead,
    query: object(PageQuery),
    replies: [{ status: 200, schema: pageShapeOf(Rollout), about: "Rollouts, newest first" }],
  },
  "GET /rollouts/{version}": {
    summary: "Show how far a rollout is",
    roles: ROLES.platformRead,
    params: RolloutParams,
    replies: [{ status: 200, schema: Rollout, about: "The rollout" }],
  },
  "POST /rollouts/{version}/stop": {
    summary:
      "Stop the rollout of a base after the tenants that are being changed; another rollout brings it to the others",
    roles: ROLES.platform,
    params: RolloutParams,
    replies: [{ status: 200, schema: Rollout, about: "The rollout: stopped" }],
  },
});

// Endpoints for many tenants: bases, blocks, rollouts.

import { BOUNDS } from "../../tenants/document/selection-bounds.ts";
import {
  Acknowledged,
  BaseDocument,
  BaseSummary,
  Block,
  BlockDone,
  Name,
  NewBlock,
  RollOut,
  RollingOut,
  Rollout,
  pageShapeOf,
} from "../contract.ts";
import { PageQuery, ROLES, endpoints } from "../endpoint.ts";
import { matching, object, textUpTo } from "../schema-parts.ts";

const BaseParams = object({ name: Name });

export const BASE_ENDPOINTS = endpoints({
  "GET /bases": {
    summary: "List base documents",
    roles: ROLES.platformRead,
    query: object(PageQuery),
    replies: [{ status: 200, schema: pageShapeOf(BaseSummary), about: "Bases, by name" }],
  },
  "GET /bases/{name}": {
    summary: "Get a base document",
    roles: ROLES.platformRead,
    params: BaseParams,
    replies: [{ status: 200, schema: BaseDocument, about: "The document; the ETag is its revision" }],
  },
  "PUT /bases/{name}": {
    summary: "Write a base document, which changes no tenant yet",
    roles: ROLES.platform,
    params: BaseParams,
    body: BaseDocument,
    conditions: ["If-Match"],
    replies: [
      { status: 200, schema: Acknowledged, about: "Written, or as it was already" },
      { status: 201, schema: Acknowledged, about: "Made" },
    ],
  },
  "POST /bases/{name}/rollout": {
    summary: "Bring a base document to every tenant that extends it; dryRun says what would change",
    roles: ROLES.platform,
    params: BaseParams,
    body: RollOut,
    replies: [{ status: 202, schema: RollingOut, about: "Begun; the server goes on by itself" }],
  },
  "DELETE /bases/{name}": {
    summary: "Delete a base document that no tenant extends",
    roles: ROLES.platform,
    params: BaseParams,
    replies: [{ status: 204, about: "Deleted" }],
  },
});

const ToolParams = object({ name: textUpTo(BOUNDS.pattern, 1) });
const DONE = { status: 202, schema: BlockDone, about: "Recorded, and on its way to every tenant" };

export const BLOCK_ENDPOINTS = endpoints({
  "GET /tools/blocked": {
    summary: "List the tools that are blocked in every tenant",
    roles: ROLES.platformRead,
    query: object(PageQuery),
    replies: [{ status: 200, schema: pageShapeOf(Block), about: "Blocked tools, by name" }],
  },
  "POST /tools/{name}/block": {
    summary: "Block a tool, or `ID__tool` of an upstream, in every tenant; callers are told the note",
    roles: ROLES.platform,
    params: ToolParams,
    body: NewBlock,
    replies: [DONE],
  },
  "DELETE /tools/{name}/block": {
    summary: "Let a tool be called again where its tenant allows it",
    roles: ROLES.platform,
    params: ToolParams,
    replies: [DONE],
  },
});

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

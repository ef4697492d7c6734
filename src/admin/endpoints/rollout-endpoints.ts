// Endpoints that affect many tenants: bases, blocks, rollouts.

import { BOUNDS } from "../../tenants/document/selection-bounds.ts";
import {
  ChangeResult,
  BaseDocument,
  BaseSummary,
  Block,
  BlockResult,
  Name,
  NewBlock,
  NewRollout,
  RolloutReference,
  Rollout,
  pageShapeOf,
} from "../contract.ts";
import { PageQuery, ROLES, defineEndpoints } from "../endpoint.ts";
import { textMatching, object, textUpTo } from "../schema-parts.ts";

const BaseParams = object({ name: Name });

export const BASE_ENDPOINTS = defineEndpoints({
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
    summary: "Write a base document; tenants do not change yet",
    roles: ROLES.platform,
    params: BaseParams,
    body: BaseDocument,
    conditions: ["If-Match"],
    replies: [
      { status: 200, schema: ChangeResult, about: "Written, or unchanged" },
      { status: 201, schema: ChangeResult, about: "Created" },
    ],
  },
  "POST /bases/{name}/rollout": {
    summary: "Roll a base document out to every tenant that extends it; dryRun shows what would change",
    roles: ROLES.platform,
    params: BaseParams,
    body: NewRollout,
    replies: [{ status: 202, schema: RolloutReference, about: "Started; the server continues by itself" }],
  },
  "DELETE /bases/{name}": {
    summary: "Delete a base document that no tenant extends",
    roles: ROLES.platform,
    params: BaseParams,
    replies: [{ status: 204, about: "Deleted" }],
  },
});

const ToolParams = object({ name: textUpTo(BOUNDS.pattern, 1) });
const BLOCK_REPLY = { status: 202, schema: BlockResult, about: "Stored, and on its way to every tenant" };

export const BLOCK_ENDPOINTS = defineEndpoints({
  "GET /tools/blocked": {
    summary: "List the tools that are blocked in every tenant",
    roles: ROLES.platformRead,
    query: object(PageQuery),
    replies: [{ status: 200, schema: pageShapeOf(Block), about: "Blocked tools, by name" }],
  },
  "POST /tools/{name}/block": {
    summary: "Block a tool, or `ID__tool` of an upstream, in every tenant; callers get the note",
    roles: ROLES.platform,
    params: ToolParams,
    body: NewBlock,
    replies: [BLOCK_REPLY],
  },
  "DELETE /tools/{name}/block": {
    summary: "Lift the block of a tool in every tenant",
    roles: ROLES.platform,
    params: ToolParams,
    replies: [BLOCK_REPLY],
  },
});

const RolloutParams = object({
  version: textMatching(/^[1-9]\d{0,15}$/, "must be the version that the answer to the change has"),
});

export const ROLLOUT_ENDPOINTS = defineEndpoints({
  "GET /rollouts": {
    summary: "List the latest rollouts",
    roles: ROLES.platformRead,
    query: object(PageQuery),
    replies: [{ status: 200, schema: pageShapeOf(Rollout), about: "Rollouts, newest first" }],
  },
  "GET /rollouts/{version}": {
    summary: "Show the progress of a rollout",
    roles: ROLES.platformRead,
    params: RolloutParams,
    replies: [{ status: 200, schema: Rollout, about: "The rollout" }],
  },
  "POST /rollouts/{version}/stop": {
    summary: "Stop the rollout of a base after the tenants in progress; another rollout reaches the rest",
    roles: ROLES.platform,
    params: RolloutParams,
    replies: [{ status: 200, schema: Rollout, about: "The stopped rollout" }],
  },
});

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
    summary: "Write a base document, which changes no tenant yet",
    roles: ROLES.platform,
    params: BaseParams,
    body: BaseDocument,
    conditions: ["If-Match"],
    replies: [
      { status: 200, schema: ChangeResult, about: "Written, or as it was already" },
      { status: 201, schema: ChangeResult, about: "Made" },
    ],
  },
  "POST /bases/{name}/rollout": {
    summary: "Bring a base document to every tenant that extends it; dryRun says what would change",
    roles: ROLES.platform,
    params: BaseParams,
    body: NewRollout,
    replies: [{ status: 202, schema: RolloutReference, about: "Begun; the server goes on by itself" }],
  },
  "DELETE /bases/{name}": {
    summary: "Delete a base document that no tenant extends",
    roles: ROLES.platform,
    params: BaseParams,
    replies: [{ status: 204, about: "Deleted" }],
  },
});

const ToolParams = object({ name: textUpTo(BOUNDS.pattern, 1) });
const BLOCK_REPLY = { status: 202, schema: BlockResult, about: "Recorded, and on its way to every tenant" };

export const BLOCK_ENDPOINTS = defineEndpoints({
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
    replies: [BLOCK_REPLY],
  },
  "DELETE /tools/{name}/block": {
    summary: "Let a tool be called again where its tenant allows it",
    roles: ROLES.platform,
    params: ToolParams,
    replies: [BLOCK_REPLY],
  },
});

const RolloutParams = object({
  version: textMatching(/^[1-9]\d{0,15}$/, "a version, as the answer to the change says it"),
});

export const ROLLOUT_ENDPOINTS = defineEndpoints({
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

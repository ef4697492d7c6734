// Routes of the admin API: base.

import { Acknowledged, BaseDocument, BaseSummary, Name, RollOut, RollingOut, pageShapeOf } from "../contract.ts";
import { PageQuery, ROLES, endpoints } from "../endpoint.ts";
import { object } from "../schema-parts.ts";

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

// Routes of the admin API: block.

import { Block, BlockDone, NewBlock, pageShapeOf } from "../contract.ts";
import { PageQuery, ROLES, endpoints } from "../endpoint.ts";
import { object, textUpTo } from "../schema-parts.ts";
import { BOUNDS } from "../../tenants/document/selection-bounds.ts";

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

// resources/list, resources/templates/list and resources/read. URIs are normalized here, once.
// https://modelcontextprotocol.io/specification/2026-07-28/server/resources

import { omitUndefined } from "../members.ts";
import type { RequestHandlers } from "../request-handlers.ts";
import type { McpRequest } from "../mcp-request.ts";
import type { CallOutcome } from "../call-outcome.ts";
import { UNCACHED } from "../call-outcome.ts";
import { failure } from "../errors.ts";
import { parseUri } from "../uri.ts";
import { listDefinitions, type DefinitionList } from "./lists.ts";
import { isFailure, readCursor, readString } from "./params.ts";

const TEMPLATES: DefinitionList = {
  member: "resourceTemplates",
  select: ({ templates }) => templates,
  adapt: (wire) => wire,
};

export function listTemplates(request: McpRequest, handlers: RequestHandlers): CallOutcome {
  return listDefinitions(TEMPLATES, request, handlers);
}

export async function listResources(request: McpRequest, handlers: RequestHandlers): Promise<CallOutcome> {
  const cursor = readCursor(request);
  if (isFailure(cursor)) return cursor;
  const page = await handlers.listResources(cursor, request);
  if (isFailure(page)) return page;
  return {
    kind: "complete",
    result: omitUndefined({ resources: page.items, nextCursor: page.nextCursor, _meta: page.meta }),
    cache: { ttlMs: 0, cacheScope: page.cacheScope ?? handlers.definitions.cache.cacheScope },
  };
}

export async function readResource(request: McpRequest, handlers: RequestHandlers): Promise<CallOutcome> {
  const uri = readString(request.params, "uri");
  if (isFailure(uri)) return uri;
  const parsed = parseUri(uri);
  if ("broken" in parsed) return failure("invalidParams", `Invalid params: uri: ${parsed.broken}`, { uri: uri });
  // The contents repeat the URI as the client wrote it, unless it contains characters that no schema allows in a URI.
  const echoedUri = /^[\x21-\x7e]*$/.test(uri) ? uri : parsed.uri;
  const outcome = await handlers.readResource({ uri: parsed.uri, asked: echoedUri }, request);
  return outcome.kind === "complete" && outcome.cache === undefined ? { ...outcome, cache: UNCACHED } : outcome;
}

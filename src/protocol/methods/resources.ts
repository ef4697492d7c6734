// Owns resources/list, resources/templates/list and resources/read: params, and URIs normalized once.
// https://modelcontextprotocol.io/specification/2026-07-28/server/resources

import { given } from "../members.ts";
import type { Backend } from "../backend.ts";
import type { Call } from "../call.ts";
import type { CallOutcome } from "../outcome.ts";
import { UNCACHED } from "../outcome.ts";
import { failure } from "../errors.ts";
import { parseUri } from "../uri.ts";
import { listDefinitions, type DefinitionList } from "./lists.ts";
import { isFailure, readCursor, readString } from "./params.ts";

const TEMPLATES: DefinitionList = {
  member: "resourceTemplates",
  of: ({ templates }) => templates,
  adapt: (wire) => wire,
};

export function listTemplates(call: Call, backend: Backend): CallOutcome {
  return listDefinitions(TEMPLATES, call, backend);
}

export async function listResources(call: Call, backend: Backend): Promise<CallOutcome> {
  const cursor = readCursor(call);
  if (isFailure(cursor)) return cursor;
  const page = await backend.listResources(cursor, call);
  if (isFailure(page)) return page;
  return {
    kind: "complete",
    result: given({ resources: page.items, nextCursor: page.nextCursor, _meta: page.meta }),
    cache: { ttlMs: 0, cacheScope: page.cacheScope ?? backend.definitions.cache.cacheScope },
  };
}

export async function readResource(call: Call, backend: Backend): Promise<CallOutcome> {
  const asked = readString(call.params, "uri");
  if (isFailure(asked)) return asked;
  const parsed = parseUri(asked);
  if ("broken" in parsed) return failure("invalidParams", `Invalid params: uri: ${parsed.broken}`, { uri: asked });
  // The contents repeat the URI as the client wrote it, unless it holds characters that no schema allows in a URI.
  const shown = /^[\x21-\x7e]*$/.test(asked) ? asked : parsed.uri;
  const outcome = await backend.readResource({ uri: parsed.uri, asked: shown }, call);
  return outcome.kind === "complete" && outcome.cache === undefined ? { ...outcome, cache: UNCACHED } : outcome;
}

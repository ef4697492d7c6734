// Lists the definitions of a view: paging, and one cached encoding per view and revision, so that a repeated list is not
// serialized again.

import type { RequestHandlers, Definitions } from "../request-handlers.ts";
import type { McpRequest } from "../mcp-request.ts";
import { SerializedResult, type CallOutcome } from "../call-outcome.ts";
import { paginate } from "../cursor.ts";
import type { ToolDefinition } from "../definition.ts";
import type { RevisionFeatures } from "../revisions.ts";
import type { JsonObject } from "../jsonrpc.ts";
import { invalid, isFailure, readCursor } from "./params.ts";

/** Definitions per page: few clients follow cursors, so one page fits a tenant of usual size. */
export const DEFINITIONS_PER_PAGE = 250;

export interface DefinitionList {
  readonly member: "tools" | "prompts" | "resourceTemplates";
  select(
    definitions: Definitions,
  ): readonly { readonly wire: JsonObject; readonly target?: Pick<ToolDefinition, "texts"> }[];
  adapt(wire: JsonObject, revision: RevisionFeatures): JsonObject;
}

/** Bound: a first page for each list and revision, as long as the definitions live. */
const encodedPages = new WeakMap<Definitions, Map<string, SerializedResult>>();

export function listDefinitions(
  list: DefinitionList,
  request: McpRequest,
  { definitions }: RequestHandlers,
): CallOutcome {
  const cursor = readCursor(request);
  if (isFailure(cursor)) return cursor;
  const { cache, meta } = definitions;
  const result =
    cursor === undefined
      ? firstPage(list, request.revision, definitions)
      : encodePage(list, request.revision, definitions, cursor);
  return result === undefined
    ? invalid("cursor", "is not one of this list")
    : { kind: "complete", result, cache, meta };
}

function firstPage(
  list: DefinitionList,
  revision: RevisionFeatures,
  definitions: Definitions,
): SerializedResult | undefined {
  let pages = encodedPages.get(definitions);
  if (!pages) encodedPages.set(definitions, (pages = new Map()));
  const key = `${list.member} ${revision.version}`;
  const cached = pages.get(key);
  if (cached) return cached;
  const encodedPage = encodePage(list, revision, definitions, undefined);
  if (encodedPage) pages.set(key, encodedPage);
  return encodedPage;
}

function encodePage(
  list: DefinitionList,
  revision: RevisionFeatures,
  definitions: Definitions,
  cursor: string | undefined,
): SerializedResult | undefined {
  const slice = paginate(list.member, list.select(definitions), cursor, DEFINITIONS_PER_PAGE);
  if (!slice) return undefined;
  const items = slice.items
    .map(({ wire, target }) => encodeItem(list.adapt(wire, revision), wire, target?.texts))
    .join();
  const next = slice.nextCursor === undefined ? "" : `,"nextCursor":${JSON.stringify(slice.nextCursor)}`;
  return new SerializedResult(`{"${list.member}":[${items}]${next}}`);
}

/** Members that the adaptation did not change are written as their source wrote them. */
function encodeItem(adapted: JsonObject, wire: JsonObject, texts: ToolDefinition["texts"]): string {
  if (!texts) return JSON.stringify(adapted);
  const members = Object.entries(adapted).flatMap(([name, value]) => {
    const text = value === wire[name] ? texts.get(name) : undefined;
    const json = text ?? JSON.stringify(value);
    return json === undefined ? [] : `${JSON.stringify(name)}:${json}`;
  });
  return `{${members.join()}}`;
}

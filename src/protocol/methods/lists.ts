// Owns listing definitions that a view holds whole: paging, and one encoding per view and dialect, kept while the view
// lives, so that a repeated list costs no serialisation.

import type { Backend, Definitions } from "../backend.ts";
import type { Call } from "../call.ts";
import { Encoded, type CallOutcome } from "../outcome.ts";
import { pageOf } from "../cursor.ts";
import type { ToolDefinition } from "../definition.ts";
import type { Dialect } from "../era.ts";
import type { JsonObject } from "../jsonrpc.ts";
import { invalid, isFailure, readCursor } from "./params.ts";

/** Definitions per page: few clients follow cursors, so a page holds what a tenant of usual size has. */
export const DEFINITIONS_PER_PAGE = 250;

export interface DefinitionList {
  readonly member: "tools" | "prompts" | "resourceTemplates";
  of(definitions: Definitions): readonly { readonly wire: JsonObject; readonly texts?: ToolDefinition["texts"] }[];
  adapt(wire: JsonObject, dialect: Dialect): JsonObject;
}

/** Bound: a first page for each list and revision, as long as the definitions. */
const encoded = new WeakMap<Definitions, Map<string, Encoded>>();

export function listDefinitions(list: DefinitionList, call: Call, { definitions }: Backend): CallOutcome {
  const cursor = readCursor(call);
  if (isFailure(cursor)) return cursor;
  const { cache, meta } = definitions;
  const result =
    cursor === undefined ? firstPage(list, call.dialect, definitions) : page(list, call.dialect, definitions, cursor);
  return result === undefined
    ? invalid("cursor", "is not one of this list")
    : { kind: "complete", result, cache, meta };
}

function firstPage(list: DefinitionList, dialect: Dialect, definitions: Definitions): Encoded | undefined {
  let known = encoded.get(definitions);
  if (!known) encoded.set(definitions, (known = new Map()));
  const key = `${list.member} ${dialect.revision}`;
  const kept = known.get(key);
  if (kept) return kept;
  const made = page(list, dialect, definitions, undefined);
  if (made) known.set(key, made);
  return made;
}

function page(
  list: DefinitionList,
  dialect: Dialect,
  definitions: Definitions,
  cursor: string | undefined,
): Encoded | undefined {
  const found = pageOf(list.member, list.of(definitions), cursor, DEFINITIONS_PER_PAGE);
  if (!found) return undefined;
  const items = found.items.map(({ wire, texts }) => encodeItem(list.adapt(wire, dialect), wire, texts)).join();
  const next = found.nextCursor === undefined ? "" : `,"nextCursor":${JSON.stringify(found.nextCursor)}`;
  return new Encoded(`{"${list.member}":[${items}]${next}}`);
}

/** What an adaptation left alone is written as its source wrote it. */
function encodeItem(adapted: JsonObject, wire: JsonObject, texts: ToolDefinition["texts"]): string {
  if (!texts) return JSON.stringify(adapted);
  const members = Object.entries(adapted).flatMap(([name, value]) => {
    const text = value === wire[name] ? texts.get(name) : undefined;
    const json = text ?? JSON.stringify(value);
    return json === undefined ? [] : `${JSON.stringify(name)}:${json}`;
  });
  return `{${members.join()}}`;
}

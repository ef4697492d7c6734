// Owns listing definitions that a view holds whole: paging, and one encoding per view and dialect, kept while the view
// lives, so that a repeated list costs no serialisation.

import { Encoded, type Backend, type CallOutcome, type Call } from "../backend.ts";
import { pageOf } from "../cursor.ts";
import type { Dialect } from "../era.ts";
import type { JsonObject } from "../jsonrpc.ts";
import { invalid, isFailure, readCursor } from "./params.ts";

/** Definitions per page: few clients follow cursors, so a page holds what a tenant of usual size has. */
export const DEFINITIONS_PER_PAGE = 250;

export interface DefinitionList {
  readonly member: "tools" | "prompts" | "resourceTemplates";
  of(backend: Backend): readonly { readonly wire: JsonObject }[];
  adapt(wire: JsonObject, dialect: Dialect): JsonObject;
}

const encoded = new WeakMap<Backend, Map<string, Encoded>>();

export function listDefinitions(list: DefinitionList, call: Call, backend: Backend): CallOutcome {
  const cursor = readCursor(call.params);
  if (isFailure(cursor)) return cursor;
  const cache = backend.definitionsCache;
  if (cursor === undefined) return { kind: "complete", result: firstPage(list, call.dialect, backend), cache };
  const result = page(list, call.dialect, backend, cursor);
  return result === undefined ? invalid("cursor", "is not one of this list") : { kind: "complete", result, cache };
}

function firstPage(list: DefinitionList, dialect: Dialect, backend: Backend): Encoded {
  let known = encoded.get(backend);
  if (!known) encoded.set(backend, (known = new Map()));
  const key = `${list.member} ${dialect.revision}`;
  let json = known.get(key);
  if (!json) known.set(key, (json = new Encoded(JSON.stringify(page(list, dialect, backend, undefined)))));
  return json;
}

function page(
  list: DefinitionList,
  dialect: Dialect,
  backend: Backend,
  cursor: string | undefined,
): JsonObject | undefined {
  const found = pageOf(list.member, list.of(backend), cursor, DEFINITIONS_PER_PAGE);
  if (!found) return undefined;
  return {
    [list.member]: found.items.map((definition) => list.adapt(definition.wire, dialect)),
    ...(found.nextCursor === undefined ? {} : { nextCursor: found.nextCursor }),
  };
}

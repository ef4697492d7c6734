// Owns that an answer which may be shared among an upstream's clients is not shared among the tenant's: to the upstream all
// of them are one, and here some see less. Refuses to make anything more public.
// https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching

import { forEachJsonRange, applyJsonEdits, type JsonEdit } from "../../mcp-client/json-text.ts";

/** The member, in escapes too. */
const MAY_CONTAIN = /cacheScope|\\u/;

/** The same JSON text, private where it says something else. */
export function toPrivateScope(json: string): string {
  if (!MAY_CONTAIN.test(json)) return json;
  const edits: JsonEdit[] = [];
  forEachJsonRange(json, 0, ({ name, from, to }) => {
    if (name === "cacheScope") edits.push({ from, to, text: '"private"' });
  });
  return applyJsonEdits(json, edits);
}

// Owns that an answer which may be shared among an upstream's clients is not shared among the tenant's: to the upstream all
// of them are one, and here some see less. Refuses to make anything more public.
// https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching

import { eachJsonPlace, edited, type JsonEdit } from "../../mcp-client/json-text.ts";

/** The member, in escapes too. */
const MAY_SAY = /cacheScope|\\u/;

/** The same JSON text, private where it says something else. */
export function asPrivate(json: string): string {
  if (!MAY_SAY.test(json)) return json;
  const said: JsonEdit[] = [];
  eachJsonPlace(json, 0, ({ name, from, to }) => {
    if (name === "cacheScope") said.push({ from, to, text: '"private"' });
  });
  return edited(json, said);
}

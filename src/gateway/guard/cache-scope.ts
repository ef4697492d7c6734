// Makes an upstream's cache hints private. To the upstream all callers of a tenant are one client, but some of them see
// less than others. https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching

import { forEachJsonRange, applyJsonEdits, type JsonEdit } from "../../mcp-client/json-text.ts";

/** The member's name, plain or with escapes. */
const MAY_CONTAIN = /cacheScope|\\u/;

/** Returns the same JSON text with every `cacheScope` set to "private". */
export function toPrivateScope(json: string): string {
  if (!MAY_CONTAIN.test(json)) return json;
  const edits: JsonEdit[] = [];
  forEachJsonRange(json, 0, ({ name, from, to }) => {
    if (name === "cacheScope") edits.push({ from, to, text: '"private"' });
  });
  return applyJsonEdits(json, edits);
}

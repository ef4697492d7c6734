// Rules of known clients for tools. One tool that breaks a rule costs the user the whole tool list, or every request
// that includes it.

import { isObject } from "./jsonrpc.ts";

/** Required by claude.ai, Claude Desktop, Codex and Copilot CLI. */
export const LISTED_NAME = /^[A-Za-z0-9_-]{1,64}$/;
export const LISTED_NAME_RULE = "1 to 64 characters of A-Z, a-z, 0-9, _ and -";

/** Keywords at the top level of an input schema for which the Anthropic API rejects a request. */
export function topLevelCombinators(schema: unknown): readonly string[] {
  return ["oneOf", "anyOf", "allOf"].filter((keyword) => isObject(schema) && keyword in schema);
}

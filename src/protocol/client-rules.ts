// What known clients refuse of a tool. One such tool costs the caller the whole list, or every request with it.

import { isObject } from "./jsonrpc.ts";

/** Of claude.ai, Claude Desktop, Codex and Copilot CLI. */
export const LISTED_NAME = /^[A-Za-z0-9_-]{1,64}$/;
export const LISTED_NAME_RULE = "1 to 64 of A-Z, a-z, 0-9, _ and -";

/** The keywords at the top of an input schema for which the Anthropic API refuses a request. */
export function topLevelCombinators(schema: unknown): readonly string[] {
  return ["oneOf", "anyOf", "allOf"].filter((keyword) => isObject(schema) && keyword in schema);
}

// Owns that numbers reach an upstream as the client wrote them: JSON.parse rounds those with more than 15 digits. Refuses
// a text that is not that of these arguments, as in a batch, and one of which others could read something else.

import { getMembers, hasDuplicateMembers } from "../../mcp-client/json-text.ts";

const LONG_NUMBER = /\d{16}/;
const PARAMS: ReadonlySet<string> = new Set(["params"]);
const ARGUMENTS: ReadonlySet<string> = new Set(["arguments"]);

/** The JSON of `args` in the message that was sent; undefined where it says no more than they do. */
export function getRawArguments(sent: string | undefined, args: unknown): string | undefined {
  if (args === undefined || sent === undefined || !LONG_NUMBER.test(sent)) return undefined;
  const params = getMembers(PARAMS, sent)?.get("params");
  const text = params === undefined ? undefined : getMembers(ARGUMENTS, params)?.get("arguments");
  if (text === undefined || !LONG_NUMBER.test(text)) return undefined;
  const known = JSON.stringify(args);
  return JSON.stringify(JSON.parse(text)) === known && !hasDuplicateMembers(text, known) ? text : undefined;
}

// Forwards numbers to an upstream as the client wrote them, because JSON.parse rounds those with more than 15 digits.
// The text is used only if it matches these arguments, which it may not in a batch, and if no reader could parse it
// differently.

import { getMembers, hasDuplicateMembers } from "../../mcp-client/json-text.ts";

const LONG_NUMBER = /\d{16}/;
const PARAMS: ReadonlySet<string> = new Set(["params"]);
const ARGUMENTS: ReadonlySet<string> = new Set(["arguments"]);

/** The JSON of `args` in the client's message. Returns undefined if it says no more than `args` does. */
export function getRawArguments(sent: string | undefined, args: unknown): string | undefined {
  if (args === undefined || sent === undefined || !LONG_NUMBER.test(sent)) return undefined;
  const params = getMembers(PARAMS, sent)?.get("params");
  const text = params === undefined ? undefined : getMembers(ARGUMENTS, params)?.get("arguments");
  if (text === undefined || !LONG_NUMBER.test(text)) return undefined;
  const known = JSON.stringify(args);
  return JSON.stringify(JSON.parse(text)) === known && !hasDuplicateMembers(text, known) ? text : undefined;
}

// Rules for everything that is listed: text members are strings, and all values can be written as JSON. A client that
// reads one wrong member may reject the whole list.

import { writeJson } from "./write-json.ts";
import { assertTypes, assertMemberTypes, assertKnownKeys, typeRule } from "../protocol/members.ts";

const ANNOTATIONS = "title readOnlyHint destructiveHint idempotentHint openWorldHint audience priority lastModified";

/**
 * Throws a TypeError that names the member and the rule. `required`: members that must be present. `optional`: members
 * allowed beside those that every definition may have; absent: unknown members are not checked.
 */
export function checkDefinition(what: string, options: object, required: readonly string[], optional?: string): void {
  if (optional !== undefined)
    assertKnownKeys(what, options, `name ${optional} title description annotations icons meta visible around`);
  assertTypes(what, options, required);
  const { annotations, icons, meta, arguments: promptArguments = {} } = options as Readonly<Record<string, object>>;
  if (Array.isArray(promptArguments)) throw new TypeError(`${what}: arguments must be an object by name, not a list`);
  for (const [name, argument] of Object.entries(promptArguments)) checkArgument(`${what}: arguments.${name}`, argument);
  for (const [member, value] of Object.entries({ annotations, icons, meta })) writeJson(value, [`${what}: ${member}`]);
  assertKnownKeys(`${what}: annotations`, annotations ?? {}, ANNOTATIONS, true);
  assertTypes(`${what}: annotations`, annotations ?? {});
  for (const [at, icon] of Object.entries(icons ?? {})) {
    assertMemberTypes(`${what}: icons.${at}`, icon, "src mimeType sizes theme", ["src"]);
  }
}

function checkArgument(what: string, argument: unknown): void {
  assertMemberTypes(what, argument, "title description required complete");
  const { complete } = argument as { readonly complete?: unknown };
  if (complete !== undefined) checkCompleters(what, { complete }, "complete");
}

/**
 * Throws a TypeError for a completer of an unknown name, and for one that is not a function. `names` are separated by
 * spaces.
 */
export function checkCompleters(what: string, completers: object, names: string): void {
  assertKnownKeys(what, completers, names);
  for (const [name, completer] of Object.entries(completers)) {
    if (typeof completer !== "function") throw new TypeError(`${what}: ${name} ${typeRule("a function", completer)}`);
  }
}

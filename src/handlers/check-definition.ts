// Owns what must hold of everything that is listed, whatever it is: texts are texts, and all of it is JSON. A client that
// reads one wrong member refuses the whole list.

import { writeJson } from "./write-json.ts";
import { assertTypes, assertMemberTypes, assertKnownKeys } from "../protocol/members.ts";

const ANNOTATIONS = "title readOnlyHint destructiveHint idempotentHint openWorldHint audience priority lastModified";

/**
 * Throws a TypeError that names the member and the rule. `needed`: members that must be there; `known`: what may be there
 * beside what every definition may have.
 */
export function checkDefinition(what: string, options: object, required: readonly string[], optional?: string): void {
  if (optional !== undefined)
    assertKnownKeys(what, options, `name ${optional} title description annotations icons meta visible around`);
  assertTypes(what, options, required);
  const { annotations, icons, meta, arguments: promptArguments = {} } = options as Readonly<Record<string, object>>;
  if (Array.isArray(promptArguments)) throw new TypeError(`${what}: arguments is an object by name`);
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

/** Throws a TypeError for a completer of what there is not, and for one that is none. `names`: with blanks between. */
export function checkCompleters(what: string, completers: object, names: string): void {
  assertKnownKeys(what, completers, names);
  for (const [name, completer] of Object.entries(completers)) {
    if (typeof completer !== "function") throw new TypeError(`${what}: ${name} is a function`);
  }
}

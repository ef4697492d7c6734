// Owns what must hold of everything that is listed, whatever it is: texts are texts, and all of it is JSON. A client that
// reads one wrong member refuses the whole list.

import { writeJson } from "../../calls/as-json.ts";
import { checkMembers, checkShape, refuseStray } from "../../protocol/members.ts";

const ANNOTATIONS = "title readOnlyHint destructiveHint idempotentHint openWorldHint audience priority lastModified";

/**
 * Throws a TypeError that names the member and the rule. `needed`: members that must be there; `known`: what may be there
 * beside what every definition may have.
 */
export function checkListed(what: string, options: object, needed: readonly string[], known?: string): void {
  if (known !== undefined)
    refuseStray(what, options, `name ${known} title description annotations icons meta visible around`);
  checkMembers(what, options, needed);
  const { annotations, icons, meta, arguments: declared = {} } = options as Readonly<Record<string, object>>;
  if (Array.isArray(declared)) throw new TypeError(`${what}: arguments is an object by name`);
  for (const [name, argument] of Object.entries(declared)) checkArgument(`${what}: arguments.${name}`, argument);
  for (const [member, value] of Object.entries({ annotations, icons, meta })) writeJson(value, [`${what}: ${member}`]);
  refuseStray(`${what}: annotations`, annotations ?? {}, ANNOTATIONS, true);
  checkMembers(`${what}: annotations`, annotations ?? {});
  for (const [at, icon] of Object.entries(icons ?? {})) {
    checkShape(`${what}: icons.${at}`, icon, "src mimeType sizes theme", ["src"]);
  }
}

function checkArgument(what: string, argument: unknown): void {
  checkShape(what, argument, "title description required complete");
  const { complete } = argument as { readonly complete?: unknown };
  if (complete !== undefined) checkCompleters(what, { complete }, "complete");
}

/** Throws a TypeError for a completer of what there is not, and for one that is none. `names`: with blanks between. */
export function checkCompleters(what: string, completers: object, names: string): void {
  refuseStray(what, completers, names);
  for (const [name, completer] of Object.entries(completers)) {
    if (typeof completer !== "function") throw new TypeError(`${what}: ${name} is a function`);
  }
}

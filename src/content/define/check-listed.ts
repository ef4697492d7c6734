// Owns what must hold of everything that is listed, whatever it is: texts are texts, and all of it is JSON. A client that
// reads one wrong member refuses the whole list.

import { writeJson } from "../../calls/as-json.ts";
import { checkMembers } from "../../protocol/members.ts";

/** Throws a TypeError that names the member and the rule. `needed`: members that must be there. */
export function checkListed(what: string, options: object, needed: readonly string[]): void {
  checkMembers(what, options, needed);
  const { annotations, icons, meta, arguments: declared = {} } = options as Readonly<Record<string, object>>;
  for (const [name, argument] of Object.entries(declared))
    checkMembers(`${what}: arguments.${name}`, argument as object);
  for (const [member, value] of Object.entries({ annotations, icons, meta })) writeJson(value, [`${what}: ${member}`]);
}

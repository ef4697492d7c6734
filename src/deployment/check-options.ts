// Owns what an author's editor would have said of `createWorker`'s options: a member that there is not, a list that is none,
// a definition in the wrong list. Refuses what only shows when everything is put together.

import { checkShape, refuseStray } from "../protocol/members.ts";

const MEMBERS =
  "name version title description websiteUrl instructions extensions settings tools prompts resources limits tenants defaultTenant path features hooks around authenticate";

/** Throws a TypeError that names the member. */
export function checkOptions(options: Readonly<Record<string, unknown>>): void {
  const what = "createWorker";
  checkShape(what, options, MEMBERS);
  const { hooks = {}, tenants = {} } = options;
  checkShape(`${what}: hooks`, hooks, "beforeCall afterCall onError");
  if (typeof tenants !== "function") refuseStray(`${what}: tenants`, tenants);
  for (const member of ["tools", "prompts", "resources", "features"]) checkList(member, options[member]);
}

function checkList(member: string, list: unknown = []): void {
  if (!Array.isArray(list)) throw new TypeError(`createWorker: ${member} is a list`);
  const at = list.findIndex((one?: { readonly kind?: string }) => {
    if (member === "features") return typeof one !== "object";
    // Of a definition with a mistake there is none under `wrangler dev`.
    return one && `${one.kind}s`.replace("template", "resource") !== member;
  });
  if (at >= 0)
    throw new TypeError(`createWorker: ${member}: ${at} is none: what define... gives, or admin() with its ()`);
}

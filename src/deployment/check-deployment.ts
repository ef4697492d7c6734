// Owns the mistakes in what createWorker is given, alone and put together: a member that there is not, a name that is there twice, a
// tenant that lists what nobody defines. Refuses what one definition alone can check.

import type { NewResource } from "../calls/resource-store.ts";
import type { Catalog } from "../content/define/catalog.ts";
import { configFaults } from "../content/define/check-config.ts";
import { searchTools } from "../content/serve/search-tools.ts";
import { checkResource } from "../content/store/open-store.ts";
import { limitFault } from "../limits/limit-table.ts";
import { isObject } from "../protocol/jsonrpc.ts";
import { meant } from "../protocol/nearest.ts";
import { matchesAny } from "../tenants/document/glob.ts";
import type { Declaration, Tenant } from "../tenants/document/tenant-definition.ts";
import type { TenantDocument } from "../tenants/document/tenant-document.ts";
import type { Bindings, BrokenMember, Deployment, BuiltInFeature } from "./deployment.ts";
import { checkShape, refuseStray } from "../protocol/members.ts";

/** Throws a TypeError that names what is wrong, and where. */
export function checkDeployment({ catalog, tenants, asked, features, defaultTenant }: Deployment): void {
  const names = namesIn(catalog);
  for (const [kind, all] of Object.entries(names)) refuseTwice(KINDS[kind as Listing], all);
  refuseTwice(
    "feature",
    features.map(({ name }) => name),
  );
  const stray = Object.entries(catalog.extensions ?? {}).find(([, settings]) => !isObject(settings));
  if (stray) throw new TypeError(`extensions: "${stray[0]}" is an object`);
  const fault = limitFault(catalog.limits ?? {}, "author");
  if (fault !== undefined) throw new TypeError(`limits: ${fault}`);
  for (const tenant of tenants.values()) checkDeclared(tenant, { catalog, features });
  const canBeMade = asked !== undefined || features.some(makesTenants);
  if (defaultTenant !== undefined && !tenants.has(defaultTenant) && !canBeMade) {
    throw new TypeError(`defaultTenant: ${unknown([...tenants.keys()], defaultTenant, "tenant")}`);
  }
}

/** A feature with routes may bring an API by which tenants are made later, and changed. */
function makesTenants({ routes }: BuiltInFeature): boolean {
  return routes !== undefined;
}

/** Throws a TypeError for what a tenant in code lists and nobody defines, and for what the Worker's features refuse. */
export function checkDeclared(
  { id, definition, base }: Tenant<NewResource>,
  { catalog, features }: Pick<Deployment, "catalog" | "features">,
): void {
  if (definition) checkTenant(id, definition, namesIn(catalog));
  const has = (tool: string) => matchesAny(tool, definition?.tools);
  const faults = configFaults(catalog, base, { has, isWhole: !features.some(makesTenants) });
  const [broken] = [...refusedByFeatures(features, base), ...faults];
  // In code a tool's configuration stands under `config`.
  const field = broken?.field.replace(/^tools\.(.+?)\.config/, "config.$1");
  if (broken) throw new TypeError(`tenant "${id}": ${field} ${broken.rule}`);
}

/** What the Worker's features refuse of a document, and what needs a feature that the Worker does not have. */
export function refusedByFeatures(
  features: readonly BuiltInFeature[],
  document: TenantDocument,
  env?: Bindings,
): readonly BrokenMember[] {
  const { audit, auth, profiles = {}, upstreams, webhooks } = document;
  const budgeted = Object.entries(profiles).find(([, { resultBudget }]) => resultBudget)?.[0];
  const needs = {
    gateway: budgeted === undefined ? upstreams && "upstreams" : `profiles.${budgeted}.resultBudget`,
    login: auth && "auth",
    callAudit: audit && "audit",
    webhooks: webhooks && "webhooks",
  };
  for (const [needed, field] of Object.entries(needs)) {
    if (field && !features.some(({ name }) => name === needed)) {
      return [{ field, rule: `needs the feature ${needed}(), which this Worker does not have` }];
    }
  }
  return features.flatMap((feature) => feature.checkDocument?.(document, env) ?? []);
}

type Listing = "tools" | "prompts" | "resources";
type Names = Readonly<Record<Listing, readonly string[]>>;

const KINDS: Readonly<Record<Listing, string>> = { tools: "tool", prompts: "prompt", resources: "resource" };

function namesIn({ tools, prompts, resources }: Catalog): Names {
  return {
    tools: tools.map(({ name }) => name),
    prompts: prompts.map(({ name }) => name),
    resources: resources.map((entry) => (entry.kind === "resource" ? entry.uri : entry.wire.uriTemplate)),
  };
}

function refuseTwice(what: string, names: readonly string[]): void {
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined) throw new TypeError(`${what} "${twice}" is defined twice`);
}

/** Checks names only: a pattern may match nothing yet. */
function checkTenant(id: string, definition: Declaration<NewResource>, names: Names): void {
  const fault = limitFault(definition.limits ?? {}, "tenant");
  if (fault !== undefined) throw new TypeError(`tenant "${id}": limits: ${fault}`);
  checkSeed(id, definition);
  const refuse = (member: string, kind: Listing, listed: readonly string[], known = names[kind]) => {
    const missing = listed.find((name) => !/[*?]/.test(name) && !known.includes(name));
    if (missing !== undefined)
      throw new TypeError(`tenant "${id}": ${member}: ${unknown(known, missing, KINDS[kind])}`);
  };
  for (const kind of ["tools", "prompts", "resources"] as const) refuse(kind, kind, definition[kind] ?? []);
  const tools = [...names.tools, ...searchTools.map(({ name }) => name)];
  refuse("config", "tools", Object.keys(definition.config ?? {}), tools);
  for (const { tools: { allow = [], deny = [], rename = {} } = {} } of Object.values(definition.profiles ?? {})) {
    // What upstreams offer has their id in its name, and is not known here.
    const own = [...allow, ...deny, ...Object.keys(rename)].filter((name) => !name.includes("__"));
    refuse("profiles", "tools", own, tools);
  }
}

/** Otherwise it would fail at the tenant's first request, and at every one that follows. */
function checkSeed(id: string, { seed }: Declaration<NewResource>): void {
  try {
    for (const resource of seed?.() ?? []) checkResource(resource);
  } catch (error) {
    const why = (error as Error).message;
    // What needs random numbers or the like can only be made in a request.
    if (!why.startsWith("Disallowed operation")) throw new TypeError(`tenant "${id}": seed: ${why}`, { cause: error });
  }
}

function unknown(known: readonly string[], name: string, what: string): string {
  return `there is no ${what} "${name}"${meant(name, known)}`;
}

const MEMBERS =
  "name version title description websiteUrl instructions extensions settings tools prompts resources limits tenants defaultTenant path features hooks around authenticate";

/**
 * What an author's editor would have said: a member that there is not, a list that is none, a definition in the wrong list. Throws a
 * TypeError that names the member.
 */
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

// Finds mistakes in the options of createWorker, alone and in combination: unknown options, duplicate names, a tenant
// that lists something undefined. Mistakes within one definition are found by its own `define` function.

import type { NewResource } from "../handlers/resource-store.ts";
import type { Catalog } from "../handlers/catalog.ts";
import { configErrors } from "../handlers/check-config.ts";
import { searchTools } from "../catalog/search-tools.ts";
import { checkResource } from "../resources/tenant-resource-store.ts";
import { limitsError } from "../limits/limit-definitions.ts";
import { isObject } from "../protocol/jsonrpc.ts";
import { didYouMean } from "../protocol/did-you-mean.ts";
import { matchesAny } from "../tenants/document/glob.ts";
import type { Declaration, Tenant } from "../tenants/document/tenant-definition.ts";
import type { TenantDocument, FieldRule } from "../tenants/document/tenant-document.ts";
import type { UntypedEnv, Deployment, BuiltInFeature } from "./deployment.ts";
import { assertMemberTypes, assertKnownKeys, typeRule } from "../protocol/members.ts";

/** Throws a TypeError that says what is wrong, and where. */
export function checkDeployment({ catalog, tenants, tenantResolver, features, defaultTenant }: Deployment): void {
  const names = namesIn(catalog);
  for (const [kind, all] of Object.entries(names)) assertUnique(KINDS[kind as Listing], all);
  assertUnique(
    "feature",
    features.map(({ name }) => name),
  );
  const stray = Object.entries(catalog.extensions ?? {}).find(([, settings]) => !isObject(settings));
  if (stray) throw new TypeError(`extensions: "${stray[0]}" ${typeRule("an object", stray[1])}`);
  const limitError = limitsError(catalog.limits ?? {}, "author");
  if (limitError !== undefined) throw new TypeError(`limits: ${limitError}`);
  for (const tenant of tenants.values()) checkDeclaredTenant(tenant, { catalog, features });
  const canBeCreated = tenantResolver !== undefined || features.some(canCreateTenants);
  if (defaultTenant !== undefined && !tenants.has(defaultTenant) && !canBeCreated) {
    throw new TypeError(`defaultTenant: ${unknownMessage([...tenants.keys()], defaultTenant, "tenant")}`);
  }
}

/** A feature with routes may bring an API that creates and changes tenants later. */
function canCreateTenants({ routes }: BuiltInFeature): boolean {
  return routes !== undefined;
}

/** Throws a TypeError if a tenant in code lists something undefined, or if one of the Worker's features rejects it. */
export function checkDeclaredTenant(
  { id, definition, base }: Tenant<NewResource>,
  { catalog, features }: Pick<Deployment, "catalog" | "features">,
): void {
  if (definition) checkTenant(id, definition, namesIn(catalog));
  const matchesTool = (tool: string) => matchesAny(tool, definition?.tools);
  const errors = configErrors(catalog, base, { has: matchesTool, isComplete: !features.some(canCreateTenants) });
  const [firstError] = [...checkByFeatures(features, base), ...errors];
  // In code, a tool's configuration is under `config`.
  const field = firstError?.field.replace(/^tools\.(.+?)\.config/, "config.$1");
  if (firstError) throw new TypeError(`tenant "${id}": ${field} ${firstError.rule}`);
}

/** Returns what the Worker's features reject in a document, and fields that need a feature which the Worker lacks. */
export function checkByFeatures(
  features: readonly BuiltInFeature[],
  document: TenantDocument,
  env?: UntypedEnv,
): readonly FieldRule[] {
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

function assertUnique(what: string, names: readonly string[]): void {
  const duplicate = names.find((name, at) => names.indexOf(name) !== at);
  if (duplicate !== undefined) throw new TypeError(`${what} "${duplicate}" is defined twice`);
}

/** Checks names only: a pattern may match nothing yet. */
function checkTenant(id: string, definition: Declaration<NewResource>, names: Names): void {
  const limitError = limitsError(definition.limits ?? {}, "tenant");
  if (limitError !== undefined) throw new TypeError(`tenant "${id}": limits: ${limitError}`);
  checkSeed(id, definition);
  const assertDefined = (member: string, kind: Listing, listed: readonly string[], validNames = names[kind]) => {
    const missing = listed.find((name) => !/[*?]/.test(name) && !validNames.includes(name));
    if (missing !== undefined)
      throw new TypeError(`tenant "${id}": ${member}: ${unknownMessage(validNames, missing, KINDS[kind])}`);
  };
  for (const kind of ["tools", "prompts", "resources"] as const) assertDefined(kind, kind, definition[kind] ?? []);
  const tools = [...names.tools, ...searchTools.map(({ name }) => name)];
  assertDefined("config", "tools", Object.keys(definition.config ?? {}), tools);
  for (const { tools: { allow = [], deny = [], rename = {} } = {} } of Object.values(definition.profiles ?? {})) {
    // Names with `__` contain an upstream's id; upstreams' tools are not known here.
    const own = [...allow, ...deny, ...Object.keys(rename)].filter((name) => !name.includes("__"));
    assertDefined("profiles", "tools", own, tools);
  }
}

/** Checks the seed at start. Otherwise an invalid seed would fail every request of the tenant. */
function checkSeed(id: string, { seed }: Declaration<NewResource>): void {
  try {
    for (const resource of seed?.() ?? []) checkResource(resource);
  } catch (error) {
    const why = (error as Error).message;
    // Code that needs random numbers or the like can only run in a request.
    if (!why.startsWith("Disallowed operation")) throw new TypeError(`tenant "${id}": seed: ${why}`, { cause: error });
  }
}

function unknownMessage(validNames: readonly string[], name: string, what: string): string {
  return `there is no ${what} "${name}"${didYouMean(name, validNames)}`;
}

const OPTION_NAMES =
  "name version title description websiteUrl instructions extensions settings tools prompts resources limits tenants defaultTenant path features hooks around authenticate";

/**
 * Repeats at run time what an editor's type check reports: an unknown option, a list that is not an array, a definition
 * in the wrong list. Throws a TypeError that names the option.
 */
export function checkOptions(options: Readonly<Record<string, unknown>>): void {
  const what = "createWorker";
  assertMemberTypes(what, options, OPTION_NAMES);
  const { hooks = {}, tenants = {} } = options;
  assertMemberTypes(`${what}: hooks`, hooks, "beforeCall afterCall onError");
  if (typeof tenants !== "function") assertKnownKeys(`${what}: tenants`, tenants);
  for (const member of ["tools", "prompts", "resources", "features"] as const) checkList(member, options[member]);
}

const ENTRY_RULES = {
  tools: "must be a tool: pass the result of defineTool()",
  prompts: "must be a prompt: pass the result of definePrompt()",
  resources: "must be a resource: pass the result of defineResource() or defineTemplate()",
  features: "must be a feature: pass the result of a call, such as admin()",
} as const;

function checkList(member: keyof typeof ENTRY_RULES, list: unknown = []): void {
  if (!Array.isArray(list)) throw new TypeError(`createWorker: ${member} ${typeRule("a list", list)}`);
  const at = list.findIndex((one?: { readonly kind?: string }) => {
    if (member === "features") return typeof one !== "object";
    // Under `wrangler dev`, a definition with a mistake is undefined.
    return one && `${one.kind}s`.replace("template", "resource") !== member;
  });
  if (at >= 0) throw new TypeError(`createWorker: ${member}[${at}] ${ENTRY_RULES[member]}`);
}

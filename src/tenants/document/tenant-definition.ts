// Owns how a tenant is declared in code, and turning that declaration into the base of what its operators write.

import {
  MAX_STALENESS_MS,
  MODES,
  type AuthDocument,
  type CallAuditDocument,
  type Limits,
  type Mode,
  type ProfileDocument,
  type ScopeDocument,
  type TenantDocument,
  type UpstreamDocument,
  type WebhookDocument,
} from "./tenant-document.ts";
import { checkPatterns, checkProfiles, checkScopes } from "./check-selections.ts";
import { SLUG } from "./selection-bounds.ts";
import type { ToolDefinition } from "../../protocol/definition.ts";
import { assertMemberTypes, omitUndefined, integerRangeError } from "../../protocol/members.ts";
import { DEFAULT_MAX_STALENESS_MS } from "../cache/policy-cache.ts";
import { DEFAULT_PLACEMENT, type Placement } from "../directory/placement.ts";

/** Whether a tenant has a tool, as it is listed. Only `true` says so. It is asked once for each tool and definition. */
export type ToolPredicate = (tool: ToolDefinition["wire"]) => boolean;

/** A tenant as the author of a Worker writes it; every member has a default. */
export interface TenantDefinitionOf<Seed = unknown, Around = unknown> {
  readonly title?: string;
  readonly description?: string;
  /** The `https` URL of a picture, which clients and the connect page show. */
  readonly icon?: string;
  readonly instructions?: string;
  readonly mode?: Mode;
  /** Authorization servers whose tokens are taken, and what everybody sees; it needs the feature `login()`. */
  readonly auth?: AuthDocument;
  /** Named sets of patterns that limit what a caller sees: those of `auth`, and of keys. */
  readonly scopes?: Readonly<Record<string, ScopeDocument>>;
  /** By name; each is a selection of the tenant's things, with a URL of its own. */
  readonly profiles?: Readonly<Record<string, ProfileDocument>>;
  /** Glob patterns over names (`*` and `?`), or a function; without them the tenant has every tool of the Worker. */
  readonly tools?: readonly string[] | ToolPredicate;
  readonly prompts?: readonly string[];
  /** Glob patterns over the URIs and URI templates of resources in code. */
  readonly resources?: readonly string[];
  /** Switches on the built-in read-only tools `search` and `fetch` over everything the tenant stores. */
  readonly search?: boolean;
  /** Resources to store at the tenant's first request; what is there already is never overwritten. */
  readonly seed?: () => readonly Seed[];
  /** What a tool reads as `ctx.config`, by the tool's name. It is frozen when it is first read. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Runs around each call of this tenant, inside of what the Worker has. */
  readonly around?: Around;
  /** What everything in code reads as `ctx.settings`; operators write over it, member by member. */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** Instead of the numbers that hold for every tenant of the Worker. */
  readonly limits?: Limits;
  /** Other MCP servers that it offers, by id; they need the feature `gateway()`. */
  readonly upstreams?: Readonly<Record<string, UpstreamDocument>>;
  /** What is recorded of its calls; it needs the feature `callAudit()`. */
  readonly audit?: CallAuditDocument;
  /** Who is told what happens to it; it needs the feature `webhooks()`. */
  readonly webhooks?: Readonly<Record<string, WebhookDocument>>;
  /** Milliseconds, 50 to 300000, for which an isolate may serve from what it last knew of the tenant. */
  readonly maxStalenessMs?: number;
}

/** With the names of the tools that it has in the place of a function. */
export interface Declaration<Seed = unknown> extends TenantDefinitionOf<Seed> {
  readonly tools?: readonly string[];
}

export interface Tenant<Seed = unknown> {
  readonly id: string;
  /** undefined: the tenant was made through the admin API. */
  readonly definition: Declaration<Seed> | undefined;
  /** The document that lies under the tenant's own. */
  readonly base: TenantDocument;
  readonly maxStalenessMs: number;
  readonly placement: Placement;
}

const RESERVED = new Set(["admin", "api", "gateway", "healthz", "mcp", "readyz", "www"]);

const MEMBERS =
  "title description icon instructions mode auth scopes profiles tools prompts resources search seed config settings around limits upstreams audit webhooks maxStalenessMs";

export function isTenantId(id: unknown): boolean {
  return typeof id === "string" && SLUG.test(id) && !RESERVED.has(id) && !id.startsWith("xn--");
}

/** `tools`: all of the Worker, as they are listed. Throws a TypeError that names the tenant and the member. */
export function defineTenants<Seed>(
  definitions: Readonly<Record<string, TenantDefinitionOf<Seed>>>,
  tools: readonly ToolDefinition[] = [],
): ReadonlyMap<string, Tenant<Seed>> {
  return new Map(Object.entries(definitions).map(([id, definition]) => [id, defineTenant(id, definition, tools)]));
}

export function defineTenant<Seed>(
  id: string,
  definition: TenantDefinitionOf<Seed>,
  all: readonly ToolDefinition[],
): Tenant<Seed> {
  if (!isTenantId(id)) {
    throw new TypeError(`tenant id "${id}": 1 to 40 of a-z, 0-9 and inner hyphens, and not a reserved word`);
  }
  checkDefinition(`tenant "${id}"`, definition);
  const { maxStalenessMs = DEFAULT_MAX_STALENESS_MS } = definition;
  const declared = declarationOf(definition, all);
  return { id, definition: declared, base: documentOf(declared), maxStalenessMs, placement: DEFAULT_PLACEMENT };
}

function checkDefinition(what: string, definition: TenantDefinitionOf): void {
  assertMemberTypes(what, definition, MEMBERS);
  const { mode = "open", maxStalenessMs = DEFAULT_MAX_STALENESS_MS, profiles = {}, scopes = {} } = definition;
  if (mode !== "open" && mode !== "key" && !definition.auth) {
    throw new TypeError(`${what}: mode is open or key; others need auth`);
  }
  const fault = integerRangeError("maxStalenessMs", maxStalenessMs, 50, MAX_STALENESS_MS);
  if (fault !== undefined) throw new TypeError(`${what}: ${fault}`);
  checkLists(what, definition);
  if (!MODES.includes(mode)) throw new TypeError(`${what}: mode is one of ${MODES.join(", ")}`);
  checkProfiles(what, profiles);
  checkScopes(what, scopes);
}

function checkLists(what: string, { tools, prompts, resources }: TenantDefinitionOf): void {
  for (const [kind, list] of Object.entries({ tools, prompts, resources })) {
    const isFunction = kind === "tools" && typeof list === "function";
    if (!isFunction) checkPatterns(`${what}: ${kind}`, list);
  }
}

function declarationOf<Seed>(definition: TenantDefinitionOf<Seed>, all: readonly ToolDefinition[]): Declaration<Seed> {
  const { tools, ...rest } = definition;
  if (tools === undefined) return rest;
  return { ...rest, tools: typeof tools === "function" ? namesOf(all, tools) : tools };
}

function namesOf(all: readonly ToolDefinition[], predicate: ToolPredicate): readonly string[] {
  // A promise, which says nothing yet, shows nothing.
  return all.filter(({ wire }) => (predicate(wire) as unknown) === true).map(({ wire }) => wire.name);
}

/** A tenant that was made through the admin API. */
export function createManagedTenant<Seed>(id: string, placement = DEFAULT_PLACEMENT): Tenant<Seed> {
  // Until its operators open it, only keys are let in.
  return { id, definition: undefined, base: { mode: "key" }, maxStalenessMs: DEFAULT_MAX_STALENESS_MS, placement };
}

/** Every other member of a declaration is one of a document too. */
function documentOf({
  tools: _tools,
  prompts: _prompts,
  resources: _resources,
  seed: _seed,
  around: _around,
  config,
  ...document
}: Declaration): TenantDocument {
  const tools = config && Object.fromEntries(Object.entries(config).map(([tool, value]) => [tool, { config: value }]));
  return omitUndefined({ ...document, tools });
}

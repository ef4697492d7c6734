// Tenants that are declared in code. A declaration becomes the base document under the one that operators write.

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
import { didYouMean } from "../../protocol/did-you-mean.ts";
import { assertMemberTypes, omitUndefined, integerRangeError } from "../../protocol/members.ts";
import { DEFAULT_MAX_STALENESS_MS } from "../cache/policy-cache.ts";
import { DEFAULT_PLACEMENT, type Placement } from "../directory/placement.ts";

/**
 * Decides whether a tenant has a tool, given the tool as `tools/list` shows it. Only `true` includes the tool. Called
 * once for each tool and tenant definition.
 */
export type ToolPredicate = (tool: ToolDefinition["wire"]) => boolean;

/** A tenant as the author of a Worker declares it in code. Every member is optional. */
export interface TenantDefinitionOf<Seed = unknown, Around = unknown> {
  /** The name that people see. */
  readonly title?: string;
  /** The purpose of the tenant, for people. */
  readonly description?: string;
  /** The `https` URL of an image. Clients and the connect page show it. */
  readonly icon?: string;
  /** Instructions that clients pass to the model when they connect. */
  readonly instructions?: string;
  /**
   * Which credentials callers need; `open` by default.
   *
   * - `open`: no credential. An invalid credential is still refused.
   * - `key`: an API key, in the header `Authorization: Bearer KEY`. To create a key, run `tenantry key create TENANT --name NAME`
   *   or use the admin API. Both need the feature `admin()` and the Worker secret `ADMIN_TOKEN` of 32 characters or
   *   more. For `wrangler dev`, put this secret into `.dev.vars`.
   * - `oauth`: the token of a person who logged in; requires `auth`. `key+oauth`: a key or such a token.
   * - `mixed`: a key, a token or none. Callers without a credential see what `auth.anonymous` allows.
   */
  readonly mode?: Mode;
  /**
   * The authorization servers whose tokens the tenant accepts, and what anonymous callers see. Requires the feature
   * `login()`.
   */
  readonly auth?: AuthDocument;
  /** Named sets of patterns that limit what a caller sees. API keys and `auth` use these names. */
  readonly scopes?: Readonly<Record<string, ScopeDocument>>;
  /** Selections of the tenant's tools, prompts and resources, by name. Each profile has its own URL. */
  readonly profiles?: Readonly<Record<string, ProfileDocument>>;
  /** Glob patterns over tool names (`*` and `?`), or a predicate. By default the tenant has all tools of the Worker. */
  readonly tools?: readonly string[] | ToolPredicate;
  /** Glob patterns over the names of prompts that are defined in code. By default the tenant has all of them. */
  readonly prompts?: readonly string[];
  /**
   * Glob patterns over the URIs and URI templates of resources that are defined in code. By default the tenant has all
   * of them.
   */
  readonly resources?: readonly string[];
  /** Adds the built-in read-only tools `search` and `fetch` over everything that the tenant stores. */
  readonly search?: boolean;
  /** Resources to store at the tenant's first request. An existing resource is never overwritten. */
  readonly seed?: () => readonly Seed[];
  /** Values that tools read as `ctx.config`. Each key is the name of a tool. The first read freezes the values. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Middleware that runs around each call to this tenant, inside the Worker's own middleware. */
  readonly around?: Around;
  /** Values of `ctx.settings` in all handlers. Operators can override each member. */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** Limits of this tenant. They replace the Worker's limits of the same name. */
  readonly limits?: Limits;
  /**
   * Other MCP servers whose tools, prompts and resources the tenant offers. Each key is the id of a server. Requires
   * the feature `gateway()`.
   */
  readonly upstreams?: Readonly<Record<string, UpstreamDocument>>;
  /** Whether and how calls are recorded. Requires the feature `callAudit()`. */
  readonly audit?: CallAuditDocument;
  /**
   * Webhooks that receive the tenant's events. Each key is the name of a webhook. Requires the feature `webhooks()`.
   */
  readonly webhooks?: Readonly<Record<string, WebhookDocument>>;
  /** How long an isolate may serve from its cached policy, in milliseconds: 50 to 300000, 5000 by default. */
  readonly maxStalenessMs?: number;
}

/** A definition whose tool predicate was replaced by the names of the tools that it selected. */
export interface Declaration<Seed = unknown> extends TenantDefinitionOf<Seed> {
  readonly tools?: readonly string[];
}

export interface Tenant<Seed = unknown> {
  readonly id: string;
  /** undefined: the tenant was created through the admin API. */
  readonly definition: Declaration<Seed> | undefined;
  /** The base document under the tenant's own document. */
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

/** `tools`: all tools of the Worker, as they are listed. Throws a TypeError that names the tenant and the member. */
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
    throw new TypeError(
      `tenant id "${id}": must be 1 to 40 characters (a-z, 0-9, hyphen) that begin and end with a letter or digit, and not a reserved word`,
    );
  }
  checkDefinition(`tenant "${id}"`, definition);
  const { maxStalenessMs = DEFAULT_MAX_STALENESS_MS } = definition;
  const declared = declarationOf(definition, all);
  return { id, definition: declared, base: documentOf(declared), maxStalenessMs, placement: DEFAULT_PLACEMENT };
}

function checkDefinition(what: string, definition: TenantDefinitionOf): void {
  assertMemberTypes(what, definition, MEMBERS);
  const { mode = "open", maxStalenessMs = DEFAULT_MAX_STALENESS_MS, profiles = {}, scopes = {} } = definition;
  if (!MODES.includes(mode) || (mode !== "open" && mode !== "key" && !definition.auth)) {
    throw new TypeError(`${what}: ${modeError(mode)}`);
  }
  const fault = integerRangeError("maxStalenessMs", maxStalenessMs, 50, MAX_STALENESS_MS);
  if (fault !== undefined) throw new TypeError(`${what}: ${fault}`);
  checkLists(what, definition);
  checkProfiles(what, profiles);
  checkScopes(what, scopes);
}

function modeError(mode: unknown): string {
  if (MODES.includes(mode as Mode)) return `mode "${String(mode)}" needs auth; without auth, mode must be open or key`;
  return `mode must be one of ${MODES.join(", ")}, not ${JSON.stringify(mode)}${didYouMean(String(mode), MODES)}`;
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
  // An async predicate returns a promise, which is not `true`, so it selects nothing.
  return all.filter(({ wire }) => (predicate(wire) as unknown) === true).map(({ wire }) => wire.name);
}

/** A tenant that was created through the admin API. */
export function createManagedTenant<Seed>(id: string, placement = DEFAULT_PLACEMENT): Tenant<Seed> {
  // Until its operators open it, the tenant admits only callers with a key.
  return { id, definition: undefined, base: { mode: "key" }, maxStalenessMs: DEFAULT_MAX_STALENESS_MS, placement };
}

/** Every remaining member of a declaration is also a member of a document. */
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

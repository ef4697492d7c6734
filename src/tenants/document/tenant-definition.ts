// Owns how a tenant is declared in code, and turning that declaration into the base of what its operators write.

import {
  MAX_STALENESS_MS,
  type AuthDocument,
  type Limits,
  type Mode,
  type ScopeDocument,
  type TenantDocument,
  type UpstreamDocument,
} from "./tenant-document.ts";
import { checkMembers, given } from "../../protocol/members.ts";
import { DEFAULT_MAX_STALENESS_MS } from "../isolate/snapshot.ts";
import { ANYWHERE, type Placement } from "../directory/placement.ts";

/** A tenant as the author of a Worker writes it; every member has a default. */
export interface TenantDefinitionOf<Seed = unknown, Around = unknown> {
  readonly title?: string;
  readonly description?: string;
  readonly instructions?: string;
  readonly mode?: Mode;
  /** Authorization servers whose tokens are taken, and what everybody sees; it needs the feature `login()`. */
  readonly auth?: AuthDocument;
  /** Named sets of patterns that limit what a caller sees: those of `auth`, and of keys. */
  readonly scopes?: Readonly<Record<string, ScopeDocument>>;
  /** Glob patterns over names (`*` and `?`); without them the tenant has every tool of the Worker. */
  readonly tools?: readonly string[];
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
  /** Milliseconds, 50 to 300000, for which an isolate may serve from what it last knew of the tenant. */
  readonly maxStalenessMs?: number;
}

export interface Tenant<Seed = unknown> {
  readonly id: string;
  /** undefined: the tenant was made through the admin API. */
  readonly definition: TenantDefinitionOf<Seed> | undefined;
  /** The document that lies under the tenant's own. */
  readonly base: TenantDocument;
  readonly maxStalenessMs: number;
  readonly placement: Placement;
}

const ID = /^[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$/;
const RESERVED = new Set(["admin", "api", "gateway", "healthz", "mcp", "readyz", "www"]);

const MEMBERS =
  "title description instructions mode auth scopes tools prompts resources search seed config settings around limits upstreams maxStalenessMs".split(
    " ",
  );

export function isTenantId(id: string): boolean {
  return ID.test(id) && !RESERVED.has(id) && !id.startsWith("xn--");
}

export function defineTenants<Seed>(
  definitions: Readonly<Record<string, TenantDefinitionOf<Seed>>>,
): ReadonlyMap<string, Tenant<Seed>> {
  const tenants = new Map<string, Tenant<Seed>>();
  for (const [id, definition] of Object.entries(definitions)) {
    if (!isTenantId(id)) {
      throw new TypeError(`tenant id "${id}": 1 to 40 of a-z, 0-9 and inner hyphens, and not a reserved word`);
    }
    checkMembers(`tenant "${id}"`, definition);
    const { mode = "open", maxStalenessMs = DEFAULT_MAX_STALENESS_MS } = definition;
    const stray = Object.keys(definition).find((member) => !MEMBERS.includes(member));
    if (stray !== undefined) throw new TypeError(`tenant "${id}": ${stray} is no member of it`);
    if (mode !== "open" && mode !== "key" && !definition.auth) {
      throw new TypeError(`tenant "${id}": mode is open or key; others need auth`);
    }
    if (!Number.isInteger(maxStalenessMs) || maxStalenessMs < 50 || maxStalenessMs > MAX_STALENESS_MS) {
      throw new TypeError(`tenant "${id}": maxStalenessMs is a whole number from 50 to ${MAX_STALENESS_MS}`);
    }
    tenants.set(id, { id, definition, base: documentOf(definition), maxStalenessMs, placement: ANYWHERE });
  }
  return tenants;
}

/** A tenant that was made through the admin API. */
export function managedTenant<Seed>(id: string, placement = ANYWHERE): Tenant<Seed> {
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
}: TenantDefinitionOf): TenantDocument {
  const tools = config && Object.fromEntries(Object.entries(config).map(([tool, value]) => [tool, { config: value }]));
  return given({ ...document, tools });
}

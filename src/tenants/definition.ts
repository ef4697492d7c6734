// Owns how a tenant is declared in code, and which tenants exist: unknown names are answered here and wake nothing.

import { DEFAULT_MAX_STALENESS_MS } from "./lease.ts";

/** A tenant as the author of a Worker writes it; every member has a default. */
export interface TenantDefinition<Seed = unknown> {
  readonly title?: string;
  readonly description?: string;
  readonly instructions?: string;
  /** Glob patterns over names (`*` and `?`); without them the tenant has every tool of the Worker. */
  readonly tools?: readonly string[];
  readonly prompts?: readonly string[];
  /** Glob patterns over the URIs and URI templates of resources in code. */
  readonly resources?: readonly string[];
  /** Switches on the built-in read-only tools `search` and `fetch` over everything the tenant stores. */
  readonly search?: boolean;
  /** Stored at the tenant's first request; what is there already is never overwritten. */
  readonly seed?: () => readonly Seed[];
  /** Per tool name: what `ctx.config` is. */
  readonly config?: Readonly<Record<string, unknown>>;
  readonly maxStalenessMs?: number;
}

export interface Tenant<Seed = unknown> extends TenantDefinition<Seed> {
  readonly id: string;
  readonly maxStalenessMs: number;
}

const ID = /^[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$/;
const RESERVED = new Set(["admin", "api", "gateway", "healthz", "mcp", "readyz", "www"]);

export function defineTenants<Seed>(
  definitions: Readonly<Record<string, TenantDefinition<Seed>>>,
): ReadonlyMap<string, Tenant<Seed>> {
  const tenants = new Map<string, Tenant<Seed>>();
  for (const [id, definition] of Object.entries(definitions)) {
    if (!ID.test(id) || RESERVED.has(id) || id.startsWith("xn--")) {
      throw new TypeError(`tenant id "${id}": 1 to 40 of a-z, 0-9 and inner hyphens, and not a reserved word`);
    }
    const staleness = definition.maxStalenessMs ?? DEFAULT_MAX_STALENESS_MS;
    if (!Number.isInteger(staleness) || staleness < 50 || staleness > 300_000) {
      throw new TypeError(`tenant "${id}": maxStalenessMs is a whole number from 50 to 300000`);
    }
    tenants.set(id, { maxStalenessMs: DEFAULT_MAX_STALENESS_MS, ...definition, id });
  }
  return tenants;
}

/** `*` stands for any run of characters, `?` for one. */
export function matchesAny(name: string, patterns: readonly string[] | undefined): boolean {
  return patterns === undefined || patterns.some((pattern) => globMatches(pattern, name));
}

function globMatches(pattern: string, name: string): boolean {
  let at = 0;
  let from = 0;
  let star = -1;
  let starFrom = 0;
  while (from < name.length) {
    const expected = pattern[at];
    if (expected === "*") {
      star = at;
      starFrom = from;
      at += 1;
    } else if (expected === "?" || expected === name[from]) {
      at += 1;
      from += 1;
    } else if (star >= 0) {
      at = star + 1;
      starFrom += 1;
      from = starFrom;
    } else {
      return false;
    }
  }
  while (pattern[at] === "*") at += 1;
  return at === pattern.length;
}

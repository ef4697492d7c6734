// The table of all limits: what each counts, its default, its range, and who may raise it. A limit that is not in this
// table cannot be set. docs/limits.md shows it.

import { integerRangeError } from "../protocol/members.ts";
import { didYouMean } from "../protocol/did-you-mean.ts";
import type { LimitName, Limits } from "../tenants/document/tenant-document.ts";

export interface LimitDefinition {
  /** The default. Infinity: no limit until one is set. */
  readonly initial: number;
  readonly unit: "a minute" | "a day" | "at once" | "bytes" | "in all";
  readonly least: number;
  readonly most: number;
  /**
   * The role that may raise the limit. An operator may raise limits that protect others than the tenant. A tenant-admin may also
   * raise limits that protect the tenant from its own callers. Everybody with write access to the document may lower
   * any limit. Only the Worker's author may change limits that apply before a tenant is known.
   */
  readonly raise: "operator" | "tenant" | "author";
  readonly about: string;
}

const MIB = 1024 * 1024;

const rate = (initial: number, raise: LimitDefinition["raise"], about: string): LimitDefinition => {
  return { initial, unit: "a minute", least: 1, most: 10_000_000, raise, about };
};
const daily = (raise: LimitDefinition["raise"], about: string): LimitDefinition => {
  return { initial: Infinity, unit: "a day", least: 1, most: 1_000_000_000, raise, about };
};
const count = (range: Pick<LimitDefinition, "unit" | "initial" | "most">, about: string): LimitDefinition => {
  return { ...range, least: range.unit === "at once" ? 1 : 0, raise: "operator", about };
};
const bytes = (initial: number, most: number, about: string, least = 0): LimitDefinition => {
  return { initial, unit: "bytes", least, most, raise: "operator", about };
};

export const LIMITS: Readonly<Record<LimitName, LimitDefinition>> = {
  tenantMessages: rate(60_000, "operator", "messages of all callers to a tenant"),
  principalMessages: rate(3000, "tenant", "messages of one key"),
  toolCalls: rate(1200, "tenant", "calls of one tool by one key"),
  addressMessages: rate(12_000, "tenant", "messages that one address sends without a credential"),
  addressToolCalls: rate(6000, "tenant", "calls of one tool that one address sends without a credential"),
  addressRefusals: rate(100, "author", "unknown tenant names and wrong credentials from one address"),
  dailyToolCalls: daily("operator", "tool calls of all callers"),
  principalDailyToolCalls: daily("tenant", "tool calls of one key, or of one address without a credential"),
  concurrentCalls: count(
    { unit: "at once", initial: 200, most: 10_000 },
    "requests of one key or address that run at the same time",
  ),
  streams: count({ unit: "at once", initial: 100, most: 20_000 }, "notification streams of one key or address"),
  sessions: count({ unit: "at once", initial: 1000, most: 100_000 }, "stateful sessions of one key or address"),
  tenantSessions: count(
    { unit: "at once", initial: 20_000, most: 1_000_000 },
    "stateful sessions of all callers together",
  ),
  bodyBytes: bytes(4 * MIB, 8 * MIB, "body of a request", 1024),
  resultBytes: bytes(36 * MIB, 100 * MIB, "answer to a request", 1024),
  resourceBytes: bytes(25 * MIB, 25 * MIB, "a stored resource"),
  storedBytes: bytes(10 * 1024 * MIB, 10_000 * 1024 * MIB, "all stored resources"),
  resources: count({ unit: "in all", initial: 100_000, most: 1_000_000 }, "stored resources"),
  keys: count({ unit: "in all", initial: 1000, most: 10_000 }, "API keys that work"),
};

export const LIMIT_NAMES = Object.keys(LIMITS) as readonly LimitName[];

/** The limits that a document can set, for one tenant or for many. */
export type TenantLimit = Exclude<LimitName, "addressRefusals">;
export const TENANT_LIMITS = /* @__PURE__ */ LIMIT_NAMES.filter(
  (name): name is TenantLimit => LIMITS[name].raise !== "author",
);

/** The effective value of each limit. */
export type EffectiveLimits = Readonly<Record<LimitName, number>> & { readonly exact: boolean };

/** The limits of a tenant without any settings. */
export const DEFAULT_LIMITS: EffectiveLimits = {
  ...(Object.fromEntries(LIMIT_NAMES.map((name) => [name, LIMITS[name].initial])) as Record<LimitName, number>),
  exact: false,
};

/** Later layers win: the Worker author's limits, then those of the tenant's document. */
export function resolveLimits(...layers: readonly (Limits | undefined)[]): EffectiveLimits {
  return Object.assign({}, DEFAULT_LIMITS, ...layers);
}

/**
 * Checks limits that are set in code, for the Worker (`author`) or for one tenant. Returns the error; undefined: none.
 */
export function limitsError(limits: Limits, author: "author" | "tenant"): string | undefined {
  for (const [name, value] of Object.entries(limits) as [string, unknown][]) {
    const row = Object.hasOwn(LIMITS, name) ? LIMITS[name as LimitName] : undefined;
    if (row?.raise === "author" && author === "tenant")
      return `${name} cannot be set for a tenant: it applies before the tenant is known`;
    if (name === "exact" && typeof value === "boolean") continue;
    if (!row)
      return name === "exact" ? "exact must be true or false" : `unknown limit ${name}${didYouMean(name, LIMIT_NAMES)}`;
    const error = integerRangeError(name, value, row.least, row.most);
    if (error !== undefined) return error;
  }
  return undefined;
}

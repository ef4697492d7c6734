// Decides what is visible: enabled in the tenant, allowed by the profile, and within the principal's scopes.
// Suspensions are not applied here; views apply them.

import type { Patterns, ProfileDocument, ScopeDocument, TenantDocument, ToolSetting } from "./tenant-document.ts";
import { globMatches, isFullGlob, matcherOf, matchesAny } from "./glob.ts";

export type Kind = "tools" | "prompts" | "resources";

export interface Suspension {
  readonly kind: "tenant" | "profile" | "principal" | "tool";
  readonly name: string;
  /** The reason, which callers see. */
  readonly note: string;
  /** ISO 8601. */
  readonly since: string;
}

/** The profile that the caller requests, and the caller's scopes. */
export interface AccessFilter {
  readonly profile: ProfileDocument | undefined;
  /** undefined: the principal is not limited. */
  readonly scopes: readonly ScopeDocument[] | undefined;
}

export interface VisibilityDecision {
  readonly visible: boolean;
  readonly reasons: readonly string[];
  /** The reasons that deny visibility. */
  readonly denials: readonly string[];
  /** The reason of the principal's scopes, which is also in `reasons`. */
  readonly scopeReason: string;
}

/** The setting under the exact name, or else under the longest matching pattern. */
export function settingOf(
  document: TenantDocument,
  tool: string,
): { readonly by: string; readonly setting: ToolSetting } | undefined {
  const { tools: settings } = document;
  if (!settings) return undefined;
  if (Object.hasOwn(settings, tool)) return { by: tool, setting: settings[tool] as ToolSetting };
  const by = patternsOf(settings).find(({ matches }) => matches(tool))?.pattern;
  return by === undefined ? undefined : { by, setting: settings[by] as ToolSetting };
}

type Settings = NonNullable<TenantDocument["tools"]>;

interface SettingPattern {
  readonly pattern: string;
  readonly matches: (tool: string) => boolean;
}

const patternsOfSettings = new WeakMap<Settings, readonly SettingPattern[]>();

/** The longest pattern first. Compiled once for each document, because documents do not change. */
function patternsOf(settings: Settings): readonly SettingPattern[] {
  const known = patternsOfSettings.get(settings);
  if (known) return known;
  const patterns = Object.keys(settings).filter((key) => /[*?]/.test(key));
  const sorted = patterns.toSorted((a, b) => b.length - a.length);
  const compiled = sorted.map((pattern) => ({ pattern, matches: matcherOf(pattern) }));
  patternsOfSettings.set(settings, compiled);
  return compiled;
}

/** Like `isVisible`, with a reason for each of the three rules. */
export function explainVisibility(
  document: TenantDocument,
  filter: AccessFilter,
  kind: Kind,
  name: string,
): VisibilityDecision {
  const setting = kind === "tools" ? settingOf(document, name) : undefined;
  const enabled = setting?.setting.enabled ?? true;
  const enabledReason = setting ? `tenant: tools.${setting.by} has enabled: ${enabled}` : "tenant: enabled by default";
  const byScopes = explainScopes(filter.scopes, kind, name);
  const rules: readonly Rule[] = [[enabled, enabledReason], explainPatterns(filter.profile?.[kind], name), byScopes];
  const denials = rules.flatMap(([isAllowed, reason]) => (isAllowed ? [] : [reason]));
  return {
    visible: denials.length === 0,
    reasons: rules.map(([, reason]) => reason),
    denials,
    scopeReason: byScopes[1],
  };
}

type Rule = readonly [isFor: boolean, reason: string];

function explainPatterns(patterns: Patterns | undefined, name: string): Rule {
  const denied = patterns?.deny?.find((pattern) => globMatches(pattern, name));
  if (denied !== undefined) return [false, `profile: denied by ${denied}`];
  if (patterns?.allow === undefined) return [true, "profile: allows everything it does not deny"];
  const allowed = patterns.allow.find((pattern) => globMatches(pattern, name));
  return allowed === undefined
    ? [false, "profile: no allow pattern matches"]
    : [true, `profile: allowed by ${allowed}`];
}

function explainScopes(scopes: readonly ScopeDocument[] | undefined, kind: Kind, name: string): Rule {
  if (scopes === undefined) return [true, "principal: no scopes apply"];
  const granted = scopes.flatMap((scope) => scope[kind] ?? []).find((pattern) => globMatches(pattern, name));
  return granted === undefined
    ? [false, "principal: no scope matches"]
    : [true, `principal: a scope grants ${granted}`];
}

export function isVisible(document: TenantDocument, filter: AccessFilter, kind: Kind, name: string): boolean {
  if (kind === "tools" && settingOf(document, name)?.setting.enabled === false) return false;
  const patterns = filter.profile?.[kind];
  if (patterns?.deny && matchesAny(name, patterns.deny)) return false;
  if (!matchesAny(name, patterns?.allow)) return false;
  return filter.scopes === undefined || filter.scopes.some((scope) => scope[kind] && matchesAny(name, scope[kind]));
}

/** Merges scopes into one, so that each name is looked up once. */
export function mergeScopes(scopes: readonly ScopeDocument[]): ScopeDocument {
  const all = (kind: Kind) => scopes.flatMap((scope) => scope[kind] ?? []);
  return { tools: all("tools"), prompts: all("prompts"), resources: all("resources") };
}

/** The total length of the patterns that are tested against each name one by one. */
export function fullGlobLength({ tools = {} }: TenantDocument, { profile, scopes = [] }: AccessFilter): number {
  const kinds = ["tools", "prompts", "resources"] as const;
  const lists = kinds.flatMap((kind) => [
    profile?.[kind]?.allow,
    profile?.[kind]?.deny,
    ...scopes.map((one) => one[kind]),
  ]);
  const patterns = [
    ...Object.keys(tools).filter((key) => /[*?]/.test(key)),
    ...lists.flatMap((list) => list?.filter(isFullGlob) ?? []),
  ];
  return patterns.reduce((sum, { length }) => sum + length, 0);
}

/** Whether something whose name begins with `prefix` may be visible. Returns true if that cannot be known. */
export function mayBeVisible({ profile, scopes }: AccessFilter, kind: Kind, prefix: string): boolean {
  const { allow, deny = [] } = profile?.[kind] ?? {};
  const lists = [allow, scopes?.flatMap((scope) => scope[kind] ?? [])];
  if (deny.some((pattern) => pattern.endsWith("*") && globMatches(pattern, prefix))) return false;
  return lists.every((list) => list?.some((pattern) => mayBegin(pattern, prefix)) ?? true);
}

function mayBegin(pattern: string, prefix: string): boolean {
  const [literal = ""] = pattern.split(/[*?]/, 1);
  return literal.startsWith(prefix) || (literal !== pattern && prefix.startsWith(literal));
}

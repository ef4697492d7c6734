// Owns the rule of what is visible: enabled in the tenant, allowed by the profile, and within the principal's scopes.
// One function decides, and another says why. Pure. Refuses to apply suspensions: a view does.

import type { Patterns, ProfileDocument, ScopeDocument, TenantDocument, ToolSetting } from "./tenant-document.ts";
import { globMatches } from "./glob.ts";

export type Kind = "tools" | "prompts" | "resources";

export interface Suspension {
  readonly kind: "tenant" | "profile" | "principal" | "tool";
  readonly name: string;
  /** The reason, which callers are told. */
  readonly note: string;
  /** ISO 8601. */
  readonly since: string;
}

/** What decides what somebody sees of a tenant: the profile that they ask for, and their scopes. */
export interface Eyes {
  readonly profile: ProfileDocument | undefined;
  /** undefined: nothing limits the principal. */
  readonly scopes: readonly ScopeDocument[] | undefined;
}

export interface Verdict {
  readonly visible: boolean;
  readonly reasons: readonly string[];
  /** Those that say no. */
  readonly against: readonly string[];
}

/** The setting of the exact name, else of the longest pattern that matches. */
export function settingOf(
  document: TenantDocument,
  tool: string,
): { readonly by: string; readonly setting: ToolSetting } | undefined {
  const settings = document.tools ?? {};
  if (Object.hasOwn(settings, tool)) return { by: tool, setting: settings[tool] as ToolSetting };
  const patterns = Object.keys(settings).filter((pattern) => globMatches(pattern, tool));
  const [by] = patterns.toSorted((a, b) => b.length - a.length);
  return by === undefined ? undefined : { by, setting: settings[by] as ToolSetting };
}

/** As `isVisible`, with a reason for each of the three rules. */
export function judge(document: TenantDocument, eyes: Eyes, kind: Kind, name: string): Verdict {
  const setting = kind === "tools" ? settingOf(document, name) : undefined;
  const enabled = setting?.setting.enabled ?? true;
  const says = setting ? `tenant: tools.${setting.by} says enabled: ${enabled}` : "tenant: enabled by default";
  const rules: readonly Rule[] = [
    [enabled, says],
    judgePatterns(eyes.profile?.[kind], name),
    judgeScopes(eyes.scopes, kind, name),
  ];
  const against = rules.flatMap(([isFor, reason]) => (isFor ? [] : [reason]));
  return { visible: against.length === 0, reasons: rules.map(([, reason]) => reason), against };
}

type Rule = readonly [isFor: boolean, reason: string];

function judgePatterns(patterns: Patterns | undefined, name: string): Rule {
  const denied = patterns?.deny?.find((pattern) => globMatches(pattern, name));
  if (denied !== undefined) return [false, `profile: denied by ${denied}`];
  if (patterns?.allow === undefined) return [true, "profile: allows everything it does not deny"];
  const allowed = patterns.allow.find((pattern) => globMatches(pattern, name));
  return allowed === undefined
    ? [false, "profile: no allow pattern matches"]
    : [true, `profile: allowed by ${allowed}`];
}

function judgeScopes(scopes: readonly ScopeDocument[] | undefined, kind: Kind, name: string): Rule {
  if (scopes === undefined) return [true, "principal: no scopes apply"];
  const granted = scopes.flatMap((scope) => scope[kind] ?? []).find((pattern) => globMatches(pattern, name));
  return granted === undefined
    ? [false, "principal: no scope matches"]
    : [true, `principal: a scope grants ${granted}`];
}

export function isVisible(document: TenantDocument, eyes: Eyes, kind: Kind, name: string): boolean {
  if (kind === "tools" && settingOf(document, name)?.setting.enabled === false) return false;
  const patterns = eyes.profile?.[kind];
  if (patterns?.deny?.some((pattern) => globMatches(pattern, name))) return false;
  if (patterns?.allow && !patterns.allow.some((pattern) => globMatches(pattern, name))) return false;
  return (
    eyes.scopes === undefined || eyes.scopes.some((scope) => scope[kind]?.some((pattern) => globMatches(pattern, name)))
  );
}

/** Whether something of which only the beginning of its name is known may be visible. Says yes where nobody can know. */
export function mayBeVisible({ profile, scopes }: Eyes, kind: Kind, prefix: string): boolean {
  const { allow, deny = [] } = profile?.[kind] ?? {};
  const lists = [allow, scopes?.flatMap((scope) => scope[kind] ?? [])];
  if (deny.some((pattern) => pattern.endsWith("*") && globMatches(pattern, prefix))) return false;
  return lists.every((list) => list?.some((pattern) => mayBegin(pattern, prefix)) ?? true);
}

function mayBegin(pattern: string, prefix: string): boolean {
  const [literal = ""] = pattern.split(/[*?]/, 1);
  return literal.startsWith(prefix) || (literal !== pattern && prefix.startsWith(literal));
}

// Owns whether a change of a document takes anything away from anybody: such a change is acknowledged only once it is
// in force. In doubt it does. Pure.

import { canonicalJson } from "../../auth/seal.ts";
import type { TenantDocument } from "../../tenants/document/tenant-document.ts";
import type { RetiredName } from "../../tenants/authority/policy-records.ts";

export function takesAway(before: TenantDocument, after: TenantDocument, retired: readonly RetiredName[]): boolean {
  return (
    retired.length > 0 ||
    differs(accessOf(before), accessOf(after)) ||
    narrowed(before.profiles, after.profiles, ({ tools, prompts, resources, search }) => [
      tools,
      prompts,
      resources,
      search,
    ]) ||
    narrowed(before.scopes, after.scopes, ({ tools, prompts, resources }) => [tools, prompts, resources]) ||
    narrowed(before.tools, after.tools, (setting) => setting.enabled ?? true) ||
    disables(before, after) ||
    narrowed(before.prompts, after.prompts, () => true) ||
    narrowed(before.upstreams, after.upstreams, (upstream) => upstream)
  );
}

/** Members that decide who gets in at all, and how much they may have. */
function accessOf(document: TenantDocument): unknown {
  const { mode, auth, allowedOrigins, hostnames, limits, search, deprecatedNameDays } = document;
  return [mode, auth, allowedOrigins, hostnames, limits, search, deprecatedNameDays];
}

/** Whether a member is gone or says something else, which may take something away. A new one takes nothing away. */
function narrowed<T>(
  before: Readonly<Record<string, T>> = {},
  after: Readonly<Record<string, T>> = {},
  of: (thing: T) => unknown,
): boolean {
  return Object.entries(before).some(([name, thing]) => {
    const next = Object.hasOwn(after, name) ? after[name] : undefined;
    return next === undefined || differs(of(thing), of(next));
  });
}

/** A new setting may switch off what was on by default. */
function disables(before: TenantDocument, after: TenantDocument): boolean {
  return Object.entries(after.tools ?? {}).some(
    ([name, setting]) => setting.enabled === false && before.tools?.[name]?.enabled !== false,
  );
}

function differs(a: unknown, b: unknown): boolean {
  return canonicalJson(a ?? null) !== canonicalJson(b ?? null);
}

// Whether a change of a document takes anything away from a caller. Such a change is acknowledged only once it is in
// effect. In doubt the answer is yes.

import { canonicalJson } from "../../auth/seal.ts";
import type { TenantDocument } from "../../tenants/document/tenant-document.ts";
import type { DeprecatedName } from "../../tenants/object/policy-records.ts";

export function isWithdrawal(
  before: TenantDocument,
  after: TenantDocument,
  deprecated: readonly DeprecatedName[],
): boolean {
  return (
    deprecated.length > 0 ||
    differs(accessMembers(before), accessMembers(after)) ||
    isNarrowed(before.profiles, after.profiles, ({ tools, prompts, resources, search }) => [
      tools,
      prompts,
      resources,
      search,
    ]) ||
    isNarrowed(before.scopes, after.scopes, ({ tools, prompts, resources }) => [tools, prompts, resources]) ||
    isNarrowed(before.tools, after.tools, (setting) => setting.enabled ?? true) ||
    disablesTool(before, after) ||
    isNarrowed(before.prompts, after.prompts, () => true) ||
    isNarrowed(before.upstreams, after.upstreams, (upstream) => upstream)
  );
}

/** Members that decide who has access at all, and how much. */
function accessMembers(document: TenantDocument): unknown {
  const { mode, auth, allowedOrigins, hostnames, limits, search, deprecatedNameDays } = document;
  return [mode, auth, allowedOrigins, hostnames, limits, search, deprecatedNameDays];
}

/** Whether a member is removed or changed, which may take something away. A new member takes nothing away. */
function isNarrowed<T>(
  before: Readonly<Record<string, T>> = {},
  after: Readonly<Record<string, T>> = {},
  partsOf: (item: T) => unknown,
): boolean {
  return Object.entries(before).some(([name, item]) => {
    const next = Object.hasOwn(after, name) ? after[name] : undefined;
    return next === undefined || differs(partsOf(item), partsOf(next));
  });
}

/** A new setting may disable a tool that was enabled by default. */
function disablesTool(before: TenantDocument, after: TenantDocument): boolean {
  return Object.entries(after.tools ?? {}).some(
    ([name, setting]) => setting.enabled === false && before.tools?.[name]?.enabled !== false,
  );
}

function differs(a: unknown, b: unknown): boolean {
  return canonicalJson(a ?? null) !== canonicalJson(b ?? null);
}

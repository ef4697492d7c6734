// Suspensions of the platform in a tenant, beside the tenant's own: those that the tenant object enforces, and those
// on their way.

import { canonicalJson } from "../../auth/seal.ts";
import { splitName } from "../../gateway/listed-name.ts";
import { mergeDocuments, type TenantDocument, type FieldRule } from "../../tenants/document/tenant-document.ts";
import type { TenantRecord } from "../../tenants/object/policy-records.ts";
import { createRpcClient } from "../../tenants/object/store.ts";
import type { Suspension } from "../../tenants/document/visibility.ts";
import { platformStubOf } from "../platform/platform-object.ts";
import { rolloutStore } from "../platform/rollout-store.ts";
import { ProblemError } from "../problem.ts";
import type { AdminContext } from "../route.ts";
import type { TenantHandle } from "./tenant-handle.ts";
import { isSubsetOfUpstreams } from "./upstream-bounds.ts";

export const rolloutsOf = (env: object) => createRpcClient(platformStubOf(env), rolloutStore);

type SuspendedRecord = Pick<TenantRecord, "suspensions" | "blocks">;

/** The record, with the platform's blocks among its suspensions. */
export function withBlocks<R extends SuspendedRecord>(record: R): R {
  const blocked = record.blocks.blocks.map((block) => ({ kind: "tool" as const, ...block }));
  return { ...record, suspensions: [...record.suspensions, ...blocked] };
}

/** Suspensions that the tenant object does not enforce yet. */
export async function getPendingSuspensions(
  env: object,
  { id, created, entry }: TenantHandle,
  { suspensions, blocks }: SuspendedRecord,
): Promise<readonly Suspension[]> {
  const pending = await rolloutsOf(env).getPending(id, entry === null ? "" : created);
  const isEnforced = (name: string) => blocks.blocks.some((block) => block.name === name);
  const isSuspended = suspensions.some(({ kind }) => kind === "tenant");
  const added = pending.version > blocks.version ? pending.blocks.filter(({ name }) => !isEnforced(name)) : [];
  return [
    ...(pending.suspension && !isSuspended ? [{ kind: "tenant" as const, name: "", ...pending.suspension }] : []),
    ...added.map((block) => ({ kind: "tool" as const, ...block })),
  ];
}

/**
 * Throws if a tenant-admin changes a member that could restore a suspended profile, or a suspended upstream tool,
 * under another name. Applies to suspensions by an operator.
 */
export async function enforceOperatorSuspensions(
  context: AdminContext,
  handle: TenantHandle,
  record: TenantRecord,
  own: TenantDocument,
): Promise<void> {
  if (context.caller.role !== "tenant-admin") return;
  const { own: before, effective, operatorSuspensions } = record;
  const { profiles = {}, upstreams = {} } = mergeDocuments([handle.tenant.base, effective]);
  const errors: FieldRule[] = [];
  const suspendedProfile = operatorSuspensions.find(
    ({ kind, name }) => kind === "profile" && Object.hasOwn(profiles, name),
  );
  const isChanged = (field: "profiles" | "tools") =>
    canonicalJson(before[field] ?? {}) !== canonicalJson(own[field] ?? {});
  if (suspendedProfile && isChanged("profiles"))
    errors.push({
      field: "profiles",
      rule: `an operator suspended the profile ${suspendedProfile.name}: ${OPERATOR_ONLY_RULE}`,
    });
  // A setting in `tools` may be all that disables another name of the tool.
  const changed = [
    ...(isSubsetOfUpstreams(before, own) ? [] : ["upstreams"]),
    ...(isChanged("tools") ? ["tools"] : []),
  ];
  const rule = changed.length > 0 && (await suspendedUpstreamToolRule(context, handle, record, upstreams));
  if (rule) errors.push(...changed.map((field) => ({ field, rule })));
  if (errors.length > 0) throw new ProblemError("forbidden", { errors });
}

/** The same check when a tenant-admin resumes an upstream tool that they suspended themselves. */
export async function enforceOperatorSuspensionOnResume(
  context: AdminContext,
  handle: TenantHandle,
  record: TenantRecord,
  name: string,
): Promise<void> {
  if (context.caller.role !== "tenant-admin") return;
  const { upstreams = {} } = mergeDocuments([handle.tenant.base, record.effective]);
  const rule = isUpstreamTool(upstreams, name) && (await suspendedUpstreamToolRule(context, handle, record, upstreams));
  if (rule) throw new ProblemError("forbidden", { errors: [{ field: "name", rule }] });
}

type Upstreams = NonNullable<TenantDocument["upstreams"]>;

const isUpstreamTool = (upstreams: Upstreams, name: string) => Object.hasOwn(upstreams, splitName(name)?.id ?? "");

/** The rule for an upstream tool that an operator suspended or is suspending; undefined: there is no such tool. */
async function suspendedUpstreamToolRule(
  { env }: AdminContext,
  handle: TenantHandle,
  record: TenantRecord,
  upstreams: Upstreams,
): Promise<string | undefined> {
  const pending = await getPendingSuspensions(env, handle, record);
  const suspendedTools = [
    ...[...record.operatorSuspensions, ...pending].filter(({ kind }) => kind === "tool"),
    ...record.blocks.blocks,
  ];
  const tool = suspendedTools.find(({ name }) => isUpstreamTool(upstreams, name));
  return tool && `an operator stopped the tool ${tool.name}: ${OPERATOR_ONLY_RULE}`;
}

const OPERATOR_ONLY_RULE = "only an operator may change this until the suspension ends";

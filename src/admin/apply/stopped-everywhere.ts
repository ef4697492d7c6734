// What a rollout stops in a tenant, beside what the tenant itself suspended: as its object enforces it, and what is on its way there.

import { canonicalJson } from "../../auth/seal.ts";
import { splitName } from "../../gateway/listed-name.ts";
import { mergeDocuments, type TenantDocument } from "../../tenants/document/tenant-document.ts";
import type { TenantRecord } from "../../tenants/authority/policy-records.ts";
import { remote } from "../../tenants/authority/tables.ts";
import type { Suspension } from "../../tenants/document/visibility.ts";
import { platformOf } from "../platform/platform-door.ts";
import { rolloutTables } from "../platform/rollout-tables.ts";
import type { FieldRule } from "../field-rule.ts";
import { ProblemError } from "../problem.ts";
import type { Desk } from "../route.ts";
import type { Managed } from "./tenant-access.ts";
import { areLess } from "./upstream-bounds.ts";

export const rolloutsOf = (env: object) => remote(platformOf(env), rolloutTables);

type Stopped = Pick<TenantRecord, "suspensions" | "blocks">;

/** The record with what is blocked in every tenant among its suspensions. */
export function withBlocks<R extends Stopped>(record: R): R {
  const blocked = record.blocks.blocks.map((block) => ({ kind: "tool" as const, ...block }));
  return { ...record, suspensions: [...record.suspensions, ...blocked] };
}

/** What the tenant's object does not enforce yet. */
export async function onItsWay(
  env: object,
  { id, created, entry }: Managed,
  { suspensions, blocks }: Stopped,
): Promise<readonly Suspension[]> {
  const coming = await rolloutsOf(env).onItsWay(id, entry === null ? "" : created);
  const isHeld = (name: string) => blocks.blocks.some((block) => block.name === name);
  const isSuspended = suspensions.some(({ kind }) => kind === "tenant");
  const added = coming.version > blocks.version ? coming.blocks.filter(({ name }) => !isHeld(name)) : [];
  return [
    ...(coming.suspension && !isSuspended ? [{ kind: "tenant" as const, name: "", ...coming.suspension }] : []),
    ...added.map((block) => ({ kind: "tool" as const, ...block })),
  ];
}

/**
 * Throws where a tenant's own administrator changes what could bring back, under another name, a profile or a tool of an upstream that
 * an operator stopped.
 */
export async function holdStops(
  desk: Desk,
  managed: Managed,
  record: TenantRecord,
  own: TenantDocument,
): Promise<void> {
  if (desk.caller.role !== "tenant-admin") return;
  const { own: before, effective, stops } = record;
  const { profiles = {}, upstreams = {} } = mergeDocuments([managed.tenant.base, effective]);
  const errors: FieldRule[] = [];
  const profile = stops.find(({ kind, name }) => kind === "profile" && Object.hasOwn(profiles, name));
  const isChanged = (field: "profiles" | "tools") =>
    canonicalJson(before[field] ?? {}) !== canonicalJson(own[field] ?? {});
  if (profile && isChanged("profiles"))
    errors.push({ field: "profiles", rule: `an operator suspended the profile ${profile.name}: ${MEANWHILE}` });
  // A setting in `tools` may be all that keeps another name of the tool off.
  const changed = [...(areLess(before, own) ? [] : ["upstreams"]), ...(isChanged("tools") ? ["tools"] : [])];
  const rule = changed.length > 0 && (await stoppedTool(desk, managed, record, upstreams));
  if (rule) errors.push(...changed.map((field) => ({ field, rule })));
  if (errors.length > 0) throw new ProblemError("forbidden", { errors });
}

/** The same where they resume a tool of an upstream that they suspended themselves. */
export async function holdResumed(desk: Desk, managed: Managed, record: TenantRecord, name: string): Promise<void> {
  if (desk.caller.role !== "tenant-admin") return;
  const { upstreams = {} } = mergeDocuments([managed.tenant.base, record.effective]);
  const rule = isOfOne(upstreams, name) && (await stoppedTool(desk, managed, record, upstreams));
  if (rule) throw new ProblemError("forbidden", { errors: [{ field: "name", rule }] });
}

type Upstreams = NonNullable<TenantDocument["upstreams"]>;

const isOfOne = (upstreams: Upstreams, name: string) => Object.hasOwn(upstreams, splitName(name)?.id ?? "");

/** What is said of a tool of an upstream that an operator stopped, or that is about to be; undefined: there is none. */
async function stoppedTool(
  { env }: Desk,
  managed: Managed,
  record: TenantRecord,
  upstreams: Upstreams,
): Promise<string | undefined> {
  const coming = await onItsWay(env, managed, record);
  const stopped = [...[...record.stops, ...coming].filter(({ kind }) => kind === "tool"), ...record.blocks.blocks];
  const tool = stopped.find(({ name }) => isOfOne(upstreams, name));
  return tool && `an operator stopped the tool ${tool.name}: ${MEANWHILE}`;
}

const MEANWHILE = "only an operator may change this meanwhile";

// Owns waiting until what the platform's object stops is stopped in every isolate, and showing it beside what a tenant's own
// object says. Tenants are not told: whatever their number, so many calls are made as there are replicas, and few more.

import { canonicalJson } from "../../auth/seal.ts";
import { splitName } from "../../gateway/listed-name.ts";
import { mergeDocuments, type TenantDocument } from "../../tenants/document/tenant-document.ts";
import type { TenantRecord } from "../../tenants/authority/policy-records.ts";
import { remote } from "../../tenants/authority/tables.ts";
import { brakeTables } from "../platform/brake-tables.ts";
import { platformOf } from "../platform/platform-door.ts";
import type { FieldRule } from "../inspect.ts";
import { ProblemError } from "../problem.ts";
import type { Desk } from "../route.ts";
import { isoTime } from "./in-force.ts";
import type { Managed } from "./tenant-access.ts";
import { areLess } from "./upstream-bounds.ts";

/** Resolves when no isolate serves what was before; gives when that was, ISO 8601. A repeated write waits, too. */
export async function stoppedEverywhere(env: object): Promise<string> {
  const left = await remote(platformOf(env), brakeTables).push();
  if (left > 0) await scheduler.wait(left);
  return isoTime(Date.now());
}

/** The record with what the platform stops in this tenant among its suspensions. */
export async function withStops<R extends Pick<TenantRecord, "suspensions">>(
  env: object,
  { id, created }: Pick<Managed, "id" | "created">,
  record: R,
): Promise<R> {
  const { tools, tenants } = await remote(platformOf(env), brakeTables).stopped();
  const stopped = tenants.filter((one) => one.id === id && ["", created].includes(one.created));
  return {
    ...record,
    suspensions: [
      ...stopped.map(({ note, since }) => ({ kind: "tenant" as const, name: "", note, since })),
      ...record.suspensions,
      ...tools.map((tool) => ({ kind: "tool" as const, ...tool })),
    ],
  };
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
  const rule = changed.length > 0 && (await stoppedTool(desk, stops, upstreams));
  if (rule) errors.push(...changed.map((field) => ({ field, rule })));
  if (errors.length > 0) throw new ProblemError("forbidden", { errors });
}

/** The same where they resume a tool of an upstream that they suspended themselves. */
export async function holdResumed(desk: Desk, managed: Managed, record: TenantRecord, name: string): Promise<void> {
  if (desk.caller.role !== "tenant-admin") return;
  const { effective, stops } = record;
  const { upstreams = {} } = mergeDocuments([managed.tenant.base, effective]);
  const rule = isOfOne(upstreams, name) && (await stoppedTool(desk, stops, upstreams));
  if (rule) throw new ProblemError("forbidden", { errors: [{ field: "name", rule }] });
}

type Upstreams = NonNullable<TenantDocument["upstreams"]>;

const isOfOne = (upstreams: Upstreams, name: string) => Object.hasOwn(upstreams, splitName(name)?.id ?? "");

/** What is said of a tool of an upstream that an operator stopped; undefined: there is none. */
async function stoppedTool(desk: Desk, stops: TenantRecord["stops"], upstreams: Upstreams) {
  const { tools } = await remote(platformOf(desk.env), brakeTables).stopped();
  const stopped = [...stops.filter(({ kind }) => kind === "tool"), ...tools];
  const tool = stopped.find(({ name }) => isOfOne(upstreams, name));
  return tool && `an operator stopped the tool ${tool.name}: ${MEANWHILE}`;
}

const MEANWHILE = "only an operator may change this meanwhile";

// Owns which upstreams a tenant's own administrator may write: those that an operator's bounds allow. A Worker fetches on its
// operator's account, and sends with each request what secrets a header names. Refuses to judge what is taken away.

import { canonicalJson } from "../../auth/seal.ts";
import {
  mergeDocuments,
  type TenantDocument,
  type UpstreamBounds,
  type UpstreamDocument,
} from "../../tenants/document/tenant-document.ts";
import type { FieldRule } from "../inspect.ts";
import type { Desk } from "../route.ts";
import { findManaged, readRecord } from "./tenant-access.ts";

type Judge = (before: TenantDocument, after: TenantDocument) => FieldRule[];

export async function upstreamJudge(desk: Desk, id: string): Promise<Judge> {
  if (desk.caller.role !== "tenant-admin") return () => [];
  const managed = await findManaged(desk, id);
  const { effective } = await readRecord(managed);
  const { upstreamBounds } = mergeDocuments([managed.tenant.base, effective]);
  return (before, after) => outOfBounds(before, after, upstreamBounds);
}

/** What a tenant's administrator may not change of the upstreams. Pure. */
export function outOfBounds(
  { upstreams: before = {} }: TenantDocument,
  { upstreams: after = {} }: TenantDocument,
  { hosts = [], most = 0 }: UpstreamBounds = { most: Infinity },
): FieldRule[] {
  const [was, is] = [Object.keys(before).length, Object.keys(after).length];
  const rule = `only an operator may make more than ${most}; upstreamBounds.most says how many`;
  const tooMany = is > most && is > was ? [{ field: "upstreams", rule }] : [];
  const elsewhere = Object.entries(after)
    .filter(([id, upstream]) => !isLess(Object.hasOwn(before, id) ? before[id] : undefined, upstream))
    // A service is granted by an operator, or refused by the feature that has upstreams.
    .flatMap(([id, { url = "", auth }]) => [
      { field: `upstreams.${id}.url`, at: url },
      // The tenant's secrets go there, too.
      ...(auth ? [{ field: `upstreams.${id}.auth.tokenUrl`, at: auth.tokenUrl }] : []),
    ])
    .filter(({ at }) => URL.canParse(at) && !isWithin(new URL(at).hostname, hosts))
    .map(({ field, at }) => ({ field, rule: hostRule(new URL(at).hostname, hosts) }));
  return [...tooMany, ...elsewhere];
}

/** It is what it was, or that switched off. */
function isLess(before: UpstreamDocument | undefined, after: UpstreamDocument): boolean {
  if (!before) return false;
  return [before, { ...before, enabled: false }].some((one) => canonicalJson(one) === canonicalJson(after));
}

function isWithin(hostname: string, hosts: readonly string[]): boolean {
  const name = hostname.replace(/\.+$/, "");
  return hosts.some((host) => (host.startsWith("*.") ? name.endsWith(host.slice(1)) : name === host));
}

function hostRule(hostname: string, hosts: readonly string[]): string {
  const allowed = hosts.length === 0 ? "none is allowed" : `allowed are ${hosts.join(", ")}`;
  return `only an operator may write an upstream at ${hostname}: ${allowed} in upstreamBounds.hosts`;
}

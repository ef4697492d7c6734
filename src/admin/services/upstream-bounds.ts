// Limits the upstreams and webhooks that a tenant-admin may configure to those within an operator's bounds. The
// Worker fetches on its operator's account, and sends the secrets that a header names. Removals are always allowed.

import { canonicalJson } from "../../auth/seal.ts";
import {
  mergeDocuments,
  type AuthBounds,
  type TenantDocument,
  type UpstreamBounds,
  type UpstreamDocument,
  type WebhookDocument,
  type FieldRule,
} from "../../tenants/document/tenant-document.ts";
import type { TenantRecord } from "../../tenants/object/policy-records.ts";
import { isWithinHosts } from "../../tenants/document/upstream-hosts.ts";
import { ProblemError } from "../problem.ts";
import type { AdminContext } from "../route.ts";
import { authBoundsErrors } from "./auth-bounds.ts";
import { requireTenant, requireTenantRecord, type TenantHandle } from "./tenant-handle.ts";

type BoundsChecker = (before: TenantDocument, after: TenantDocument) => FieldRule[];

/** For upstreams and authorization servers. */
export async function createBoundsChecker(context: AdminContext, id: string): Promise<BoundsChecker> {
  if (context.caller.role !== "tenant-admin") return () => [];
  const handle = await requireTenant(context, id);
  const record = await requireTenantRecord(handle);
  return (before, after) => allBoundsErrors(before, after, tenantBounds(context, handle, record));
}

interface TenantBounds {
  readonly upstreams: UpstreamBounds | undefined;
  readonly auth: AuthBounds | undefined;
}

function allBoundsErrors(
  before: TenantDocument,
  after: TenantDocument,
  { upstreams, auth }: TenantBounds,
): FieldRule[] {
  return [...upstreamBoundsErrors(before, after, upstreams), ...authBoundsErrors(before, after, auth)];
}

/** The operators' bounds in the document and its bases, or else the bounds of the Worker's author. */
function tenantBounds(
  { options: { features = [] } }: AdminContext,
  { tenant }: TenantHandle,
  { effective }: TenantRecord,
): TenantBounds {
  const { upstreamBounds, authBounds } = mergeDocuments([tenant.base, effective]);
  return {
    upstreams: upstreamBounds ?? features.find(({ upstreams }) => upstreams)?.upstreams?.bounds,
    auth: authBounds,
  };
}

/**
 * Call before each write, with the record that the write replaces: bounds may have become narrower since the request
 * began. Throws.
 */
export function enforceBounds(
  context: AdminContext,
  handle: TenantHandle,
  record: TenantRecord,
  after: TenantDocument,
): void {
  if (context.caller.role !== "tenant-admin") return;
  const errors = allBoundsErrors(record.own, after, tenantBounds(context, handle, record));
  if (errors.length > 0) throw new ProblemError("forbidden", { errors });
}

/** Errors for upstreams and webhooks that a tenant-admin may not change. */
function upstreamBoundsErrors(
  { upstreams: before = {}, webhooks: previousWebhooks = {} }: TenantDocument,
  { upstreams: after = {}, webhooks = {} }: TenantDocument,
  { hosts = [], most = 0 }: UpstreamBounds = { most: Infinity },
): FieldRule[] {
  const [previousCount, count] = [Object.keys(before).length, Object.keys(after).length];
  const rule = `must have at most ${most} entries: only an operator can add more (upstreamBounds.most)`;
  const tooMany = count > most && count > previousCount ? [{ field: "upstreams", rule }] : [];
  // A webhook makes the Worker send requests, too, and shows its writer the answers.
  const webhookUrls = Object.entries(webhooks)
    .filter(
      ([name, hook]) =>
        !isUnchangedOrDisabled(Object.hasOwn(previousWebhooks, name) ? previousWebhooks[name] : undefined, hook),
    )
    .map(([name, { url }]) => ({ field: `webhooks.${name}.url`, at: url }));
  const upstreamUrls = Object.entries(after)
    .filter(([id, upstream]) => !isUnchangedOrDisabled(Object.hasOwn(before, id) ? before[id] : undefined, upstream))
    // An upstream without a URL uses a service binding, which an operator grants or the gateway feature rejects.
    .flatMap(([id, { url = "", auth }]) => [
      { field: `upstreams.${id}.url`, at: url },
      // The token request sends the tenant's secrets, too.
      ...(auth ? [{ field: `upstreams.${id}.auth.tokenUrl`, at: auth.tokenUrl }] : []),
    ]);
  const hostErrors = [...upstreamUrls, ...webhookUrls]
    .filter(({ at }) => URL.canParse(at) && !isWithinHosts(new URL(at), hosts))
    .map(({ field, at }) => ({ field, rule: disallowedHostRule(new URL(at).host, hosts) }));
  return [...tooMany, ...hostErrors];
}

/** Whether all upstreams existed before and are unchanged or disabled. */
export function isSubsetOfUpstreams(
  { upstreams: before = {} }: TenantDocument,
  { upstreams: after = {} }: TenantDocument,
): boolean {
  const ids = Object.keys(before);
  return (
    ids.length === Object.keys(after).length &&
    ids.every((id) => after[id] && isUnchangedOrDisabled(before[id], after[id]))
  );
}

/** Whether the part is unchanged, or differs only in being disabled. */
function isUnchangedOrDisabled<Part extends UpstreamDocument | WebhookDocument>(
  before: Part | undefined,
  after: Part,
): boolean {
  if (!before) return false;
  return [before, { ...before, enabled: false }].some((one) => canonicalJson(one) === canonicalJson(after));
}

function disallowedHostRule(host: string, hosts: readonly string[]): string {
  const allowed = hosts.length === 0 ? "none is allowed" : `allowed are ${hosts.join(", ")}`;
  return `only an operator may have requests sent to ${host}: ${allowed} in upstreamBounds.hosts`;
}

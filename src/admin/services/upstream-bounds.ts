// Owns what a tenant's own administrator may write within bounds, and which upstreams and webhooks: those that an operator's bounds allow. A Worker fetches on its
// operator's account, and sends with each request what secrets a header names. Refuses to judge what is taken away.

import { canonicalJson } from "../../auth/seal.ts";
import {
  mergeDocuments,
  type AuthBounds,
  type TenantDocument,
  type UpstreamBounds,
  type UpstreamDocument,
  type WebhookDocument,
} from "../../tenants/document/tenant-document.ts";
import type { TenantRecord } from "../../tenants/object/policy-records.ts";
import { isWithinHosts } from "../../tenants/document/upstream-hosts.ts";
import { ProblemError } from "../problem.ts";
import type { FieldRule } from "../field-rule.ts";
import type { AdminContext } from "../route.ts";
import { authBoundsErrors } from "./auth-bounds.ts";
import { requireTenant, requireRecord, type TenantHandle } from "./tenant-handle.ts";

type BoundsChecker = (before: TenantDocument, after: TenantDocument) => FieldRule[];

/** Of upstreams, and of the authorization servers beside them. */
export async function createBoundsChecker(context: AdminContext, id: string): Promise<BoundsChecker> {
  if (context.caller.role !== "tenant-admin") return () => [];
  const handle = await requireTenant(context, id);
  const record = await requireRecord(handle);
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

/** As operators say in the document and its bases, else as the Worker's author does. */
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
 * To be called where a document is written, under the very record that it is written over: bounds may have been narrowed since
 * the request was looked at. Throws.
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

/** What a tenant's administrator may not change of the upstreams, and of the webhooks. Pure. */
export function upstreamBoundsErrors(
  { upstreams: before = {}, webhooks: previousWebhooks = {} }: TenantDocument,
  { upstreams: after = {}, webhooks = {} }: TenantDocument,
  { hosts = [], most = 0 }: UpstreamBounds = { most: Infinity },
): FieldRule[] {
  const [previousCount, count] = [Object.keys(before).length, Object.keys(after).length];
  const rule = `only an operator may make more than ${most}; upstreamBounds.most says how many`;
  const tooMany = count > most && count > previousCount ? [{ field: "upstreams", rule }] : [];
  // A webhook has the Worker send requests, too, and shows its writer how they are answered.
  const webhookUrls = Object.entries(webhooks)
    .filter(
      ([name, hook]) =>
        !isUnchangedOrDisabled(Object.hasOwn(previousWebhooks, name) ? previousWebhooks[name] : undefined, hook),
    )
    .map(([name, { url }]) => ({ field: `webhooks.${name}.url`, at: url }));
  const upstreamUrls = Object.entries(after)
    .filter(([id, upstream]) => !isUnchangedOrDisabled(Object.hasOwn(before, id) ? before[id] : undefined, upstream))
    // A service is granted by an operator, or refused by the feature that has upstreams.
    .flatMap(([id, { url = "", auth }]) => [
      { field: `upstreams.${id}.url`, at: url },
      // The tenant's secrets go there, too.
      ...(auth ? [{ field: `upstreams.${id}.auth.tokenUrl`, at: auth.tokenUrl }] : []),
    ]);
  const hostErrors = [...upstreamUrls, ...webhookUrls]
    .filter(({ at }) => URL.canParse(at) && !isWithinHosts(new URL(at), hosts))
    .map(({ field, at }) => ({ field, rule: disallowedHostRule(new URL(at).host, hosts) }));
  return [...tooMany, ...hostErrors];
}

/** The same ones as before, each as it was or switched off. */
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

/** It is what it was, or that switched off. */
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

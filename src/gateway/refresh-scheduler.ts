// Schedules upstream refreshes for one isolate. The tenant object says what is due and which upstreams this isolate may
// refresh, so that no two isolates refresh the same one. Also removes the sections of deleted upstreams.

import type { RefreshContext } from "../deployment/deployment.ts";
import { sectionStore } from "../tenants/object/section-store.ts";
import { createRpcClient } from "../tenants/object/store.ts";
import { catalogReads } from "./guard/fair-semaphore.ts";
import { serviceGrantError, type Services } from "./guard/service-binding.ts";
import { hashOf } from "./listed-name.ts";
import { outboundAllowOf } from "../outbound/guarded-fetch.ts";
import { gatewayStore, type RefreshClaimResult, type RefreshClaimRequest } from "./gateway-store.ts";
import { catalogSection, failureSection, startRefresh, type RefreshRequest } from "./refresh-entrypoint.ts";
import { missingSecretReason, createReason } from "./read-failure.ts";
import { configHashOf, enabledUpstreams, resolveHeaders, type NamedUpstream } from "./upstream-config.ts";
import { uriPrefixes } from "./uris/uri-owners.ts";

const UPSTREAM_SECTION = /^upstream(-failing)?:/;
/**
 * The platform runs six connections at once per request, shared with the request that this work runs beside. A seventh
 * waits. Hanging servers must not occupy all six.
 */
const CONCURRENCY = 4;
/**
 * No waiting refresh starts after this time. Background work ends half a minute after its request, and a refresh a
 * little later.
 */
const START_TIMEOUT_MS = 10_000;
/** Limits requests to the tenant object if this machine's clock is ahead of its clock. */
const MIN_PAUSE_MS = 1000;
const CLEAR_RETRY_MS = 30_000;
/** Retry delay if no slot became free in time. */
const BUSY_RETRY_MS = 1_000;

export async function refreshDueUpstreams(context: RefreshContext, services: Services): Promise<number> {
  const upstreams = enabledUpstreams(context.document);
  const sectionNames = new Set(upstreams.flatMap(({ id }) => [catalogSection(id), failureSection(id)]));
  const staleSections = [...context.sectionHashes.keys()].filter(
    (name) => UPSTREAM_SECTION.test(name) && !sectionNames.has(name),
  );
  if (upstreams.length === 0 && staleSections.length === 0) return Infinity;
  const { stub } = context;
  const request = createRefreshClaim(context, services);
  const claimDue = async (limit: number) =>
    createRpcClient(stub(), gatewayStore).claimDue({ ...request, limit, claimId: crypto.randomUUID() });
  const slots = acquireFreeSlots(context.tenant);
  const { claimed, nextAt, isCurrent, hasMore = false } = await claimForSlots(slots, claimDue);
  // Claimed upstreams are refreshed whatever happens to the removals.
  const clearing = isCurrent ? staleSections.map(async (name) => removeSection(name, context)) : [];
  if (claimed.length === 0 && !hasMore) {
    return Math.max(Math.min(nextAt, ...(await Promise.all(clearing))), Date.now() + MIN_PAUSE_MS);
  }
  const refreshById = async (id: string) => {
    await Promise.all(upstreams.filter((one) => one.id === id).map((one) => refresh(one, context)));
  };
  const started = claimed.map((id, at) => ({ id, release: slots[at] }));
  const [isBusy] = await Promise.all([
    runBatch(context.tenant, { started, hasMore: hasMore, claimDue, refreshById }),
    ...clearing,
  ]);
  // Only the tenant object knows when the refreshed upstreams are due again, so it is asked again at once.
  return Date.now() + (isBusy ? BUSY_RETRY_MS * (1 + Math.random()) : 0);
}

type ReleaseSlot = () => void;

/** Takes the slots that are free now, without waiting: usually nothing is due. */
function acquireFreeSlots(tenant: string): ReleaseSlot[] {
  return Array.from({ length: CONCURRENCY }, () => catalogReads.tryAcquire(tenant)).filter(
    (release) => release !== undefined,
  );
}

/** Claims at most as many as there are slots, and releases unused slots. */
async function claimForSlots(
  slots: ReleaseSlot[],
  claimDue: (most: number) => Promise<RefreshClaimResult>,
): Promise<RefreshClaimResult> {
  let claimed = 0;
  try {
    const answer = await claimDue(slots.length);
    claimed = answer.claimed.length;
    return answer;
  } finally {
    for (const release of slots.splice(claimed)) release();
  }
}

interface RefreshBatch {
  readonly started: readonly { readonly id: string; readonly release: ReleaseSlot | undefined }[];
  readonly hasMore: boolean;
  readonly claimDue: (most: number) => Promise<RefreshClaimResult>;
  readonly refreshById: (id: string) => Promise<void>;
}

/** Claims each further upstream only when a slot is free: a claim without a slot would block other isolates. */
async function runBatch(tenant: string, { started, claimDue, refreshById, ...all }: RefreshBatch): Promise<boolean> {
  const end = Date.now() + START_TIMEOUT_MS;
  let { hasMore } = all;
  let isBusy = false;
  const next = async (): Promise<void> => {
    if (!hasMore || Date.now() >= end) return;
    const release = await catalogReads.acquireWithin(tenant, end - Date.now());
    isBusy ||= !release;
    if (!release) return;
    try {
      // Another slot may have learned meanwhile that nothing is left.
      const { claimed, hasMore: isMoreDue = false } = hasMore ? await claimDue(1) : { claimed: [] };
      hasMore &&= isMoreDue;
      await Promise.all(claimed.map(refreshById));
    } finally {
      release();
    }
    await next();
  };
  const runSlot = async ({ id, release }: RefreshBatch["started"][number]) => {
    try {
      await refreshById(id);
    } finally {
      release?.();
    }
    await next();
  };
  await Promise.all([...started.map(runSlot), ...Array.from({ length: CONCURRENCY - started.length }, next)]);
  return isBusy;
}

/** Returns when to try again, milliseconds since the epoch. Infinity if the section was removed. */
async function removeSection(name: string, context: RefreshContext): Promise<number> {
  try {
    await createRpcClient(context.stub(), sectionStore).remove(name);
    return Infinity;
  } catch (error) {
    context.onError(error);
    return Date.now() + CLEAR_RETRY_MS;
  }
}

async function refresh(one: NamedUpstream, context: RefreshContext): Promise<void> {
  try {
    await startUpstreamRefresh(one, context);
  } catch (error) {
    context.onError(error);
  }
}

/** Call only with a claim. Resolves when the catalog or the failure note has been written. */
export async function startUpstreamRefresh({ id, upstream }: NamedUpstream, context: RefreshContext): Promise<void> {
  const { tenant, placement, created: uid, server, env } = context;
  const { name, version } = server;
  const headerResult = await resolveHeaders(upstream, { tenant, env, secret: (secret) => context.secret(secret) });
  const grantError = serviceGrantError(context.document, upstream);
  const headers = "missingSecret" in headerResult ? missingSecretReason(headerResult.missingSecret) : headerResult;
  const resolvedHeaders = grantError === undefined ? headers : createReason("service-missing", grantError);
  const clientInfo = { name, version };
  const configHash = configHashOf(upstream);
  const prefixes = uriPrefixes(context.document);
  const request: RefreshRequest = {
    tenant,
    placement,
    uid,
    id,
    configHash,
    upstream,
    resolvedHeaders,
    clientInfo,
    lastSection: context.sectionHashes.get(catalogSection(id)),
    prefixes,
  };
  const internalError = await startRefresh(request);
  if (internalError !== undefined) context.onError(new Error(internalError));
}

/** All upstreams of a document that may be refreshed, as sent to the tenant object. */
export function createRefreshClaim(
  context: Pick<RefreshContext, "document" | "revision" | "env">,
  services: Services,
): RefreshClaimRequest {
  const { document, revision, env } = context;
  const upstreams = enabledUpstreams(document).map(({ id, upstream }) => {
    const isExposed = upstream.service !== undefined && Object.hasOwn(services, upstream.service);
    const access = [serviceGrantError(document, upstream), isExposed, outboundAllowOf(env)];
    return { id, configHash: configHashOf(upstream), accessDigest: hashOf(JSON.stringify(access)) };
  });
  const idle = Object.keys(document.upstreams ?? {}).filter((id) => !upstreams.some((one) => one.id === id));
  return { revision, upstreams, idle };
}

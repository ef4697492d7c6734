// Routes for definitions of a reviewed upstream that wait for approval. A decision names a definition by digest, and
// fails if the definition no longer waits.

import { changesOf, findRenamedFrom } from "../../gateway/review/definition-changes.ts";
import { flagsOf } from "../../gateway/review/definition-flags.ts";
import { rewriteReviewedSection } from "../../gateway/review/review-catalog.ts";
import { reviewStore, type ReviewVerdict, type WaitingDefinition } from "../../gateway/review/review-store.ts";
import { encodeCursor } from "../../protocol/cursor.ts";
import { nearestName } from "../../protocol/did-you-mean.ts";
import { mergedDocument } from "../../catalog/tenant-catalog.ts";
import { MAX_SECTIONS_BYTES } from "../../tenants/object/section-store.ts";
import { createRpcClient } from "../../tenants/object/store.ts";
import { deadlineFrom, isoTime, waitForLeases } from "../services/propagation.ts";
import { policyOf } from "../services/load-tenant-catalog.ts";
import { requireTenant, requireTenantRecord, type TenantHandle } from "../services/tenant-handle.ts";
import type { ReviewDecision, PendingDefinitionShape, Infer } from "../contract.ts";
import { NUMBER_POSITION, parsePosition } from "../page.ts";
import { notFound, ProblemError } from "../problem.ts";
import { defineRoutes, type AdminContext, type RouteResponse, type RouteContext } from "../route.ts";
import type { UpstreamParams } from "../endpoints/upstream-endpoints.ts";
import { UPSTREAM_REVIEW_ENDPOINTS } from "../endpoints/upstream-endpoints.ts";

const LIST_NAME = "pending";

export const upstreamReviewRoutes = defineRoutes(UPSTREAM_REVIEW_ENDPOINTS, {
  "GET /tenants/{id}/upstreams/{upstream}/pending": async (context) => {
    const { upstream } = context.params;
    const { stub } = await requireReviewedTenant(context, context.params);
    const after = Number(parsePosition(`${LIST_NAME} ${upstream}`, context.query, NUMBER_POSITION) ?? -1);
    const page = { after, limit: context.query.limit };
    const { items, next } = await createRpcClient(stub(), reviewStore).listWaiting(upstream, page);
    const cursor = next === undefined ? {} : { cursor: encodeCursor(`${LIST_NAME} ${upstream}`, String(next)) };
    return { body: { items: items.map(toPendingDefinition), ...cursor } };
  },
  "POST /tenants/{id}/upstreams/{upstream}/approve": (context) => decideReview("approve", context),
  "POST /tenants/{id}/upstreams/{upstream}/reject": (context) => decideReview("reject", context),
});

type DecisionContext = RouteContext<
  Infer<typeof UpstreamParams>,
  { readonly wait?: boolean },
  Infer<typeof ReviewDecision>
>;

async function decideReview(verdict: ReviewVerdict, context: DecisionContext): Promise<RouteResponse> {
  const { upstream } = context.params;
  const { digests } = context.body;
  const handle = await requireReviewedTenant(context, context.params);
  const reviews = () => createRpcClient(handle.stub(), reviewStore);
  const { unknown } = await reviews().decide({ id: upstream, verdict, digests }, context.caller);
  if (unknown.length > 0) {
    const detail = `No waiting definition has the digest ${unknown.slice(0, 3).join(", ")}: list them again`;
    throw new ProblemError("conflict", { detail });
  }
  const result = await rewriteReviewedSection(upstream, {
    ...handle,
    bodies: context.env.BODIES,
  });
  if (result?.state === "full") {
    const detail = `The lists of this tenant's upstreams would be more than ${MAX_SECTIONS_BYTES} bytes in total`;
    throw new ProblemError("conflict", { detail });
  }
  const effectiveAt = result?.state === "written" ? deadlineFrom(result.leftMs) : null;
  if (context.query.wait && effectiveAt !== null) await waitForLeases(effectiveAt);
  const { waiting } = await reviews().getState(upstream);
  const changed = effectiveAt !== null;
  return { body: { decided: digests.length, waiting, changed, effectiveAt: isoTime(effectiveAt) } };
}

/** Throws if there is no such upstream, or if its definitions are not reviewed. */
async function requireReviewedTenant(
  context: AdminContext,
  { id, upstream }: Infer<typeof UpstreamParams>,
): Promise<TenantHandle> {
  const handle = await requireTenant(context, id);
  const { upstreams = {} } = mergedDocument(handle.tenant, policyOf(await requireTenantRecord(handle)));
  const upstreamDocument = Object.hasOwn(upstreams, upstream) ? upstreams[upstream] : undefined;
  if (!upstreamDocument) throw notFound(`upstream ${upstream}`, nearestName(upstream, Object.keys(upstreams)));
  if (upstreamDocument.trust === "review") return handle;
  const detail = `Nothing waits for approval: the upstream ${upstream} has no "trust": "review"`;
  throw new ProblemError("conflict", { detail });
}

function toPendingDefinition(definition: WaitingDefinition): Infer<typeof PendingDefinitionShape> {
  const { kind, name, digest, approved, rejected, listedAt } = definition;
  const previousName = approved === null ? findRenamedFrom(definition) : undefined;
  const state = approved === null ? "new" : "changed";
  return {
    kind,
    name,
    state: rejected ? "rejected" : state,
    digest,
    approved: approved?.digest ?? null,
    seen: new Date(listedAt).toISOString(),
    changes: changesOf(definition).map((change) => ({ ...change })),
    flags: [...flagsOf(JSON.parse(definition.text))],
    ...(previousName !== undefined && { renamedFrom: previousName }),
  };
}

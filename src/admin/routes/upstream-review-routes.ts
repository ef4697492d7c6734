// Owns the routes for what waits for approval of an upstream whose definitions are reviewed: shown with all that differs,
// approved or rejected by digest. Refuses a decision on what is not there any more.

import { changesOf, renamedFrom } from "../../gateway/review/definition-changes.ts";
import { flagsOf } from "../../gateway/review/definition-flags.ts";
import { listDecided } from "../../gateway/review/review-catalog.ts";
import { reviewTables, type ReviewVerdict, type WaitingDefinition } from "../../gateway/review/review-tables.ts";
import { encodeCursor } from "../../protocol/cursor.ts";
import { nearest } from "../../protocol/nearest.ts";
import { documentOf } from "../../content/serve/sources.ts";
import { MAX_SECTIONS_BYTES } from "../../tenants/authority/section-tables.ts";
import { remote } from "../../tenants/authority/tables.ts";
import { fromNow, isoTime, untilInForce } from "../apply/in-force.ts";
import { policyOf } from "../apply/tenant-offer.ts";
import { findManaged, readRecord, type Managed } from "../apply/tenant-access.ts";
import type { Decide, WaitingShape, Infer } from "../contract.ts";
import { NUMBER, positionOf } from "../page.ts";
import { notFound, ProblemError } from "../problem.ts";
import { routes, type Desk, type RouteAnswer, type RouteCall } from "../route.ts";
import type { UpstreamParams } from "../endpoints/upstream-endpoints.ts";
import { UPSTREAM_REVIEW_ENDPOINTS } from "../endpoints/upstream-endpoints.ts";

const LIST = "pending";

export const upstreamReviewRoutes = routes(UPSTREAM_REVIEW_ENDPOINTS, {
  "GET /tenants/{id}/upstreams/{upstream}/pending": async (call) => {
    const { upstream } = call.params;
    const { stub } = await reviewedTenant(call, call.params);
    const after = Number(positionOf(`${LIST} ${upstream}`, call.query, NUMBER) ?? -1);
    const page = { after, limit: call.query.limit };
    const { items, next } = await remote(stub(), reviewTables).waiting(upstream, page);
    const cursor = next === undefined ? {} : { cursor: encodeCursor(`${LIST} ${upstream}`, String(next)) };
    return { body: { items: items.map(shownOf), ...cursor } };
  },
  "POST /tenants/{id}/upstreams/{upstream}/approve": (call) => decide("approve", call),
  "POST /tenants/{id}/upstreams/{upstream}/reject": (call) => decide("reject", call),
});

type DecisionCall = RouteCall<Infer<typeof UpstreamParams>, { readonly wait?: boolean }, Infer<typeof Decide>>;

async function decide(verdict: ReviewVerdict, call: DecisionCall): Promise<RouteAnswer> {
  const { upstream } = call.params;
  const { digests } = call.body;
  const managed = await reviewedTenant(call, call.params);
  const reviews = () => remote(managed.stub(), reviewTables);
  const { unknown } = await reviews().decide({ id: upstream, verdict, digests }, call.caller);
  if (unknown.length > 0) {
    const detail = `Nothing that waits now has the digest ${unknown.slice(0, 3).join(", ")}: look again`;
    throw new ProblemError("conflict", { detail });
  }
  const written = await listDecided(upstream, { ...managed, bodies: call.env.BODIES });
  if (written?.state === "full") {
    const detail = `The lists of this tenant's upstreams would be more than ${MAX_SECTIONS_BYTES} bytes together`;
    throw new ProblemError("conflict", { detail });
  }
  const effectiveAt = written?.state === "written" ? fromNow(written.leftMs) : null;
  if (call.query.wait && effectiveAt !== null) await untilInForce(effectiveAt);
  const { waiting } = await reviews().inForce(upstream);
  const changed = effectiveAt !== null;
  return { body: { decided: digests.length, waiting, changed, effectiveAt: isoTime(effectiveAt) } };
}

/** Throws where there is no such upstream, or none whose definitions wait for approval. */
async function reviewedTenant(desk: Desk, { id, upstream }: Infer<typeof UpstreamParams>): Promise<Managed> {
  const managed = await findManaged(desk, id);
  const { upstreams = {} } = documentOf(managed.tenant, policyOf(await readRecord(managed)));
  const found = Object.hasOwn(upstreams, upstream) ? upstreams[upstream] : undefined;
  if (!found) throw notFound(`upstream ${upstream}`, nearest(upstream, Object.keys(upstreams)));
  if (found.trust === "review") return managed;
  const detail = `Nothing waits for approval: the upstream ${upstream} has no "trust": "review"`;
  throw new ProblemError("conflict", { detail });
}

function shownOf(waiting: WaitingDefinition): Infer<typeof WaitingShape> {
  const { kind, name, digest, approved, rejected, seenAt } = waiting;
  const was = approved === null ? renamedFrom(waiting) : undefined;
  const state = approved === null ? "new" : "changed";
  return {
    kind,
    name,
    state: rejected ? "rejected" : state,
    digest,
    approved: approved?.digest ?? null,
    seen: new Date(seenAt).toISOString(),
    changes: changesOf(waiting).map((change) => ({ ...change })),
    flags: [...flagsOf(JSON.parse(waiting.text))],
    ...(was !== undefined && { renamedFrom: was }),
  };
}

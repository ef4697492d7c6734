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
import { Decide, Decided, pageShapeOf, WaitingShape, type Infer } from "../contract.ts";
import { NUMBER, positionOf } from "../page.ts";
import { notFound, ProblemError } from "../problem.ts";
import { Flag, PageQuery, ROLES, route, type Desk, type Route } from "../route.ts";
import { object, textUpTo } from "../schema-parts.ts";
import { TenantParams } from "./tenant-routes.ts";

const UpstreamParams = object({ ...TenantParams.shape, upstream: textUpTo(100, 1) });
const LIST = "pending";

export const upstreamReviewRoutes: readonly Route[] = [
  route({
    method: "get",
    path: "/tenants/{id}/upstreams/{upstream}/pending",
    summary: "List the definitions of an upstream that wait for approval, with all in which they differ",
    roles: ROLES.tenantRead,
    params: UpstreamParams,
    query: object(PageQuery),
    replies: [{ status: 200, schema: pageShapeOf(WaitingShape), about: "As the upstream lists them" }],
    handle: async (call) => {
      const { upstream } = call.params;
      const { stub } = await reviewedTenant(call, call.params);
      const after = Number(positionOf(`${LIST} ${upstream}`, call.query, NUMBER) ?? -1);
      const page = { after, limit: call.query.limit };
      const { items, next } = await remote(stub(), reviewTables).waiting(upstream, page);
      const cursor = next === undefined ? {} : { cursor: encodeCursor(`${LIST} ${upstream}`, String(next)) };
      return { body: { items: items.map(shownOf), ...cursor } };
    },
  }),
  decision("approve", "Approve definitions: what was seen under these digests is listed from now on"),
  decision("reject", "Reject definitions: they wait no more, and are not listed"),
];

function decision(verdict: ReviewVerdict, summary: string): Route {
  return route({
    method: "post",
    path: `/tenants/{id}/upstreams/{upstream}/${verdict}`,
    summary,
    roles: ROLES.tenant,
    params: UpstreamParams,
    query: object({}, { wait: Flag }),
    body: Decide,
    replies: [{ status: 200, schema: Decided, about: "Decided; seen everywhere from effectiveAt on" }],
    handle: async (call) => {
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
    },
  });
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

// Routes for a tenant's upstreams: their states, writing one into the tenant's document, and a test or a read now.

import type { UpstreamContent, UpstreamContext, UpstreamReport } from "../../deployment/deployment.ts";
import { nearestName } from "../../protocol/did-you-mean.ts";
import type { TenantRecord } from "../../tenants/object/policy-records.ts";
import type { TenantDocument, UpstreamDocument } from "../../tenants/document/tenant-document.ts";
import { deadlineFrom, isoTime, waitForLeases } from "../services/propagation.ts";
import { requireTenant } from "../services/tenant-handle.ts";
import { getUpstreamContext, requireUpstreamOperations } from "../services/upstream-context.ts";
import { createBoundsChecker } from "../services/upstream-bounds.ts";
import type { UpstreamRefreshResult, UpstreamShape, UpstreamSummary, UpstreamTestResult, Infer } from "../contract.ts";
import { paginateArray } from "../page.ts";
import { notFound, ProblemError } from "../problem.ts";
import { defineRoutes, type AdminContext } from "../route.ts";
import { editDocument } from "./document-routes.ts";
import type { UpstreamParams, UpstreamWriteQuery } from "../endpoints/upstream-endpoints.ts";
import { UPSTREAM_ENDPOINTS } from "../endpoints/upstream-endpoints.ts";

type Upstreams = NonNullable<TenantDocument["upstreams"]>;

export const upstreamRoutes = defineRoutes(UPSTREAM_ENDPOINTS, {
  "GET /tenants/{id}/upstreams": async (context) => {
    const all = await readUpstreamStates(context, context.params.id);
    const sorted = all.toSorted((a, b) => (a.id < b.id ? -1 : 1));
    return { body: paginateArray("upstreams", sorted.map(toUpstreamSummary), context.query) };
  },
  "GET /tenants/{id}/upstreams/{upstream}": async (context) => {
    const { id, upstream } = context.params;
    return { body: requireUpstreamState(await readUpstreamStates(context, id), upstream) };
  },
  "PUT /tenants/{id}/upstreams/{upstream}": async (context) => {
    const { id, upstream } = context.params;
    const upstreamDocument = context.body;
    return editUpstreams(context, id, {
      action: "upstream.write",
      change: (all) => ({ ...all, [upstream]: upstreamDocument }),
    });
  },
  "DELETE /tenants/{id}/upstreams/{upstream}": async (context) => {
    const { id, upstream } = context.params;
    const change = (all: Upstreams) => {
      if (!Object.hasOwn(all, upstream)) throw notFound(`upstream ${upstream} in the tenant's own document`);
      return Object.fromEntries(Object.entries(all).filter(([other]) => other !== upstream));
    };
    return editUpstreams(context, id, { action: "upstream.delete", change });
  },
  "POST /tenants/{id}/upstreams/{upstream}/test": async (context) => {
    const { id, upstream } = context.params;
    const { upstreamContext } = await getUpstreamContext(context, await requireTenant(context, id));
    requireUpstream(upstreamContext, upstream);
    return { body: toTestResult(await requireUpstreamOperations(context).test(upstreamContext, upstream)) };
  },
  "POST /tenants/{id}/upstreams/{upstream}/refresh": async (context) => ({
    body: await refreshUpstream(context, context.params, context.query),
  }),
});

interface UpstreamEdit {
  readonly action: string;
  readonly change: (upstreams: Upstreams) => Upstreams;
}

async function editUpstreams(
  context: AdminContext & { readonly query: Infer<typeof UpstreamWriteQuery> },
  id: string,
  { action, change }: UpstreamEdit,
) {
  const checkBounds = await createBoundsChecker(context, id);
  const edit = (own: TenantDocument): TenantDocument => {
    const { upstreams: before = {}, ...others } = own;
    const upstreams = change(before);
    // Removing the last upstream also removes the member, as before the first upstream was added.
    const next = Object.keys(upstreams).length === 0 ? others : { ...own, upstreams };
    const errors = checkBounds(own, next);
    if (errors.length > 0) throw new ProblemError("forbidden", { errors });
    return next;
  };
  return editDocument(context, id, { edit, action, ...context.query });
}

async function refreshUpstream(
  context: AdminContext,
  { id, upstream }: Infer<typeof UpstreamParams>,
  { wait }: { readonly wait?: boolean },
): Promise<Infer<typeof UpstreamRefreshResult>> {
  const operations = requireUpstreamOperations(context);
  const handle = await requireTenant(context, id);
  const { upstreamContext } = await getUpstreamContext(context, handle);
  if (requireUpstream(upstreamContext, upstream).enabled === false) {
    throw new ProblemError("conflict", { detail: `The upstream ${upstream} is switched off` });
  }
  if (!(await operations.refresh(upstreamContext, upstream))) {
    throw new ProblemError("conflict", { detail: `The upstream ${upstream} was changed meanwhile: try again` });
  }
  const after = requireUpstreamState(await readUpstreamStates(context, id), upstream);
  const leasesEndAt = deadlineFrom(await handle.policy.leftMs());
  if (wait === true) await waitForLeases(leasesEndAt);
  const effectiveAt = leasesEndAt > Date.now() ? isoTime(leasesEndAt) : null;
  return { read: after.since === null && after.content !== null, effectiveAt, upstream: after };
}

function requireUpstream({ document: { upstreams = {} } }: UpstreamContext, name: string): UpstreamDocument {
  const upstream = Object.hasOwn(upstreams, name) ? upstreams[name] : undefined;
  if (!upstream) throw notFound(`upstream ${name}`, nearestName(name, Object.keys(upstreams)));
  return upstream;
}

type UpstreamState = Infer<typeof UpstreamShape>;

async function readUpstreamStates(context: AdminContext, id: string): Promise<readonly UpstreamState[]> {
  const operations = requireUpstreamOperations(context);
  const { upstreamContext, record } = await getUpstreamContext(context, await requireTenant(context, id));
  const reports = await operations.report(upstreamContext);
  return [...reports].map(([name, report]) =>
    toUpstreamState(name, requireUpstream(upstreamContext, name), { report, record }),
  );
}

function requireUpstreamState(all: readonly UpstreamState[], name: string): UpstreamState {
  const state = all.find(({ id }) => id === name);
  if (!state) {
    const ids = all.map(({ id }) => id);
    throw notFound(`upstream ${name}`, nearestName(name, ids));
  }
  return state;
}

function toUpstreamState(
  id: string,
  { url, service, path = "/mcp", enabled = true, era = "auto", trust = "auto", headers = {} }: UpstreamDocument,
  { report, record }: { readonly report: UpstreamReport; readonly record: TenantRecord },
): UpstreamState {
  const { state, why: reason, causes, reading } = report;
  return {
    id,
    url: url ?? `service:${service}${path}`,
    enabled,
    setBy: setBy(id, record),
    trust,
    state,
    why: reason,
    causes: causes.map((one) => ({ ...one })),
    since: isoTime(report.since),
    lastRead: isoTime(report.lastRead),
    nextRead: isoTime(report.nextRead),
    reading,
    era,
    headers: Object.keys(headers),
    content: report.content && toContentShape(report.content),
  };
}

function toContentShape({ flagged, ...content }: UpstreamContent): NonNullable<UpstreamState["content"]> {
  return {
    ...content,
    quarantined: content.quarantined.map((one) => ({ ...one })),
    ...(flagged.length > 0 && { flagged: flagged.map(({ flags, ...one }) => ({ ...one, flags: [...flags] })) }),
  };
}

function setBy(id: string, { own, effective }: TenantRecord): UpstreamState["setBy"] {
  if (Object.hasOwn(own.upstreams ?? {}, id)) return "tenant";
  return Object.hasOwn(effective.upstreams ?? {}, id) ? "base" : "code";
}

function toUpstreamSummary({ content, ...about }: UpstreamState): Infer<typeof UpstreamSummary> {
  if (!content) return { ...about, content };
  const { way, revision, counts, quarantined, unnamed } = content;
  return { ...about, content: { way, revision, counts, quarantined: quarantined.length + unnamed } };
}

function toTestResult(
  test: Awaited<ReturnType<ReturnType<typeof requireUpstreamOperations>["test"]>>,
): Infer<typeof UpstreamTestResult> {
  const milliseconds = test.ms;
  const causes = test.causes.map((one) => ({ ...one }));
  if ("fault" in test) return { works: false, fault: test.fault, causes, milliseconds, server: null, content: null };
  const { content, server } = test;
  const refused = test.refused.map((one) => ({ ...one }));
  return {
    works: true,
    fault: null,
    causes,
    milliseconds,
    server: { ...server },
    content: toContentShape(content),
    refused,
  };
}

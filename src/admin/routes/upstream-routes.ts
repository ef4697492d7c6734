// Owns the routes for a tenant's upstreams: what is known of each, writing one into the tenant's document, and having one
// tried or read now. What is configured is the document's alone; approving definitions is not decided here.

import type { UpstreamContent, UpstreamGround, UpstreamReport } from "../../deployment/deployment.ts";
import { nearest } from "../../protocol/nearest.ts";
import type { TenantRecord } from "../../tenants/authority/policy-records.ts";
import type { TenantDocument, UpstreamDocument } from "../../tenants/document/tenant-document.ts";
import { fromNow, isoTime, untilInForce } from "../apply/in-force.ts";
import { findManaged } from "../apply/tenant-access.ts";
import { upstreamGround, upstreamOperations } from "../apply/upstream-access.ts";
import { boundsJudge } from "../apply/upstream-bounds.ts";
import type { UpstreamRefreshed, UpstreamShape, UpstreamSummary, UpstreamTested, Infer } from "../contract.ts";
import { pageOfAll } from "../page.ts";
import { notFound, ProblemError } from "../problem.ts";
import { routes, type Desk } from "../route.ts";
import { applied } from "./document-routes.ts";
import type { UpstreamParams, WriteQuery } from "../endpoints/upstream-endpoints.ts";
import { UPSTREAM_ENDPOINTS } from "../endpoints/upstream-endpoints.ts";

type Upstreams = NonNullable<TenantDocument["upstreams"]>;

export const upstreamRoutes = routes(UPSTREAM_ENDPOINTS, {
  "GET /tenants/{id}/upstreams": async (call) => {
    const all = await lookAt(call, call.params.id);
    const sorted = all.toSorted((a, b) => (a.id < b.id ? -1 : 1));
    return { body: pageOfAll("upstreams", sorted.map(summaryOf), call.query) };
  },
  "GET /tenants/{id}/upstreams/{upstream}": async (call) => {
    const { id, upstream } = call.params;
    return { body: named(await lookAt(call, id), upstream) };
  },
  "PUT /tenants/{id}/upstreams/{upstream}": async (call) => {
    const { id, upstream } = call.params;
    const written = call.body;
    return write(call, id, { action: "upstream.write", change: (all) => ({ ...all, [upstream]: written }) });
  },
  "DELETE /tenants/{id}/upstreams/{upstream}": async (call) => {
    const { id, upstream } = call.params;
    const change = (all: Upstreams) => {
      if (!Object.hasOwn(all, upstream)) throw notFound(`upstream ${upstream} in the tenant's own document`);
      return Object.fromEntries(Object.entries(all).filter(([other]) => other !== upstream));
    };
    return write(call, id, { action: "upstream.delete", change });
  },
  "POST /tenants/{id}/upstreams/{upstream}/test": async (call) => {
    const { id, upstream } = call.params;
    const { ground } = await upstreamGround(call, await findManaged(call, id));
    namedIn(ground, upstream);
    return { body: testedOf(await upstreamOperations(call).test(ground, upstream)) };
  },
  "POST /tenants/{id}/upstreams/{upstream}/refresh": async (call) => ({
    body: await refresh(call, call.params, call.query),
  }),
});

interface Edit {
  readonly action: string;
  readonly change: (upstreams: Upstreams) => Upstreams;
}

async function write(call: Desk & { readonly query: Infer<typeof WriteQuery> }, id: string, { action, change }: Edit) {
  const judge = await boundsJudge(call, id);
  const edit = (own: TenantDocument): TenantDocument => {
    const { upstreams: before = {}, ...others } = own;
    const upstreams = change(before);
    // A document that says nothing of upstreams any more is as it was before it did.
    const next = Object.keys(upstreams).length === 0 ? others : { ...own, upstreams };
    const errors = judge(own, next);
    if (errors.length > 0) throw new ProblemError("forbidden", { errors });
    return next;
  };
  return applied(call, id, { edit, action, ...call.query });
}

async function refresh(
  call: Desk,
  { id, upstream }: Infer<typeof UpstreamParams>,
  { wait }: { readonly wait?: boolean },
): Promise<Infer<typeof UpstreamRefreshed>> {
  const operations = upstreamOperations(call);
  const managed = await findManaged(call, id);
  const { ground } = await upstreamGround(call, managed);
  if (namedIn(ground, upstream).enabled === false) {
    throw new ProblemError("conflict", { detail: `The upstream ${upstream} is switched off` });
  }
  if (!(await operations.refresh(ground, upstream))) {
    throw new ProblemError("conflict", { detail: `The upstream ${upstream} was configured anew meanwhile` });
  }
  const after = named(await lookAt(call, id), upstream);
  const inForceAt = fromNow(await managed.policy.leftMs());
  if (wait === true) await untilInForce(inForceAt);
  const effectiveAt = inForceAt > Date.now() ? isoTime(inForceAt) : null;
  return { read: after.since === null && after.content !== null, effectiveAt, upstream: after };
}

function namedIn({ document: { upstreams = {} } }: UpstreamGround, name: string): UpstreamDocument {
  const upstream = Object.hasOwn(upstreams, name) ? upstreams[name] : undefined;
  if (!upstream) throw notFound(`upstream ${name}`, nearest(name, Object.keys(upstreams)));
  return upstream;
}

type Shown = Infer<typeof UpstreamShape>;

async function lookAt(desk: Desk, id: string): Promise<readonly Shown[]> {
  const operations = upstreamOperations(desk);
  const { ground, record } = await upstreamGround(desk, await findManaged(desk, id));
  const reports = await operations.report(ground);
  return [...reports].map(([name, report]) => shown(name, namedIn(ground, name), { report, record }));
}

function named(all: readonly Shown[], name: string): Shown {
  const found = all.find(({ id }) => id === name);
  if (!found) {
    const ids = all.map(({ id }) => id);
    throw notFound(`upstream ${name}`, nearest(name, ids));
  }
  return found;
}

function shown(
  id: string,
  { url, service, path = "/mcp", enabled = true, era = "auto", trust = "auto", headers = {} }: UpstreamDocument,
  { report, record }: { readonly report: UpstreamReport; readonly record: TenantRecord },
): Shown {
  const { state, why, causes, reading } = report;
  return {
    id,
    url: url ?? `service:${service}${path}`,
    enabled,
    setBy: setBy(id, record),
    trust,
    state,
    why,
    causes: causes.map((one) => ({ ...one })),
    since: isoTime(report.since),
    lastRead: isoTime(report.lastRead),
    nextRead: isoTime(report.nextRead),
    reading,
    era,
    headers: Object.keys(headers),
    content: report.content && contentShown(report.content),
  };
}

function contentShown({ flagged, ...content }: UpstreamContent): NonNullable<Shown["content"]> {
  return {
    ...content,
    quarantined: content.quarantined.map((one) => ({ ...one })),
    ...(flagged.length > 0 && { flagged: flagged.map(({ flags, ...one }) => ({ ...one, flags: [...flags] })) }),
  };
}

function setBy(id: string, { own, effective }: TenantRecord): Shown["setBy"] {
  if (Object.hasOwn(own.upstreams ?? {}, id)) return "tenant";
  return Object.hasOwn(effective.upstreams ?? {}, id) ? "base" : "code";
}

function summaryOf({ content, ...about }: Shown): Infer<typeof UpstreamSummary> {
  if (!content) return { ...about, content };
  const { way, revision, counts, quarantined, unnamed } = content;
  return { ...about, content: { way, revision, counts, quarantined: quarantined.length + unnamed } };
}

function testedOf(
  trial: Awaited<ReturnType<ReturnType<typeof upstreamOperations>["test"]>>,
): Infer<typeof UpstreamTested> {
  const milliseconds = trial.ms;
  const causes = trial.causes.map((one) => ({ ...one }));
  if ("fault" in trial) return { works: false, fault: trial.fault, causes, milliseconds, server: null, content: null };
  const { content, server } = trial;
  const refused = trial.refused.map((one) => ({ ...one }));
  return {
    works: true,
    fault: null,
    causes,
    milliseconds,
    server: { ...server },
    content: contentShown(content),
    refused,
  };
}

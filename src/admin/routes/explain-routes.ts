// Explains why a caller sees a tool, a prompt or a resource, or does not. The route computes the caller's view, and
// names every rule that took part.

import { findHidden, type HiddenDefinitions } from "../../catalog/hidden-definitions.ts";
import { type Suspension, explainVisibility, type AccessFilter } from "../../tenants/document/visibility.ts";
import type { TenantCatalog } from "../../catalog/tenant-catalog.ts";
import { createView, type View } from "../../catalog/view.ts";
import { FLAGS_KEY } from "../../gateway/review/definition-flags.ts";
import { isObject, type JsonObject } from "../../protocol/jsonrpc.ts";
import { suggestName } from "../../protocol/did-you-mean.ts";
import { parseUri } from "../../protocol/uri.ts";
import type { DeprecatedName, TenantRecord } from "../../tenants/object/policy-records.ts";
import type { TenantDocument } from "../../tenants/document/tenant-document.ts";
import type { Explanation, Infer } from "../contract.ts";
import { notFound } from "../problem.ts";
import { defineRoutes, type AdminContext } from "../route.ts";
import { resolveSubject, type ExplainSubject } from "../services/explain-subject.ts";
import { sourceReasons } from "../services/explain-sources.ts";
import { explainDecision } from "../services/explain-decision.ts";
import { getLimitUsage } from "../services/limit-rules.ts";
import { namesByListedName, loadTenantCatalog } from "../services/load-tenant-catalog.ts";
import { getPendingSuspensions, withBlocks } from "../services/platform-blocks.ts";
import { requireTenant, requireTenantRecord, type TenantHandle } from "../services/tenant-handle.ts";
import { type ExplainQuery, EXPLAIN_ENDPOINTS } from "../endpoints/record-endpoints.ts";

type ExplainRequest = Infer<typeof ExplainQuery>;

export const explainRoutes = defineRoutes(EXPLAIN_ENDPOINTS, {
  "GET /tenants/{id}/explain": async (context) => ({
    body: await explain(context, await requireTenant(context, context.params.id), context.query),
  }),
});

async function explain(
  context: AdminContext,
  handle: TenantHandle,
  request: ExplainRequest,
): Promise<Infer<typeof Explanation>> {
  const stored = await requireTenantRecord(handle);
  const record = withBlocks(stored);
  const catalog = await loadTenantCatalog(context, handle, record);
  const { document } = catalog;
  const query = { ...request, name: sourceNameOf(request.name, catalog) };
  const { profile = null } = query;
  const { profiles = {} } = document;
  if (profile !== null && !Object.hasOwn(profiles, profile)) {
    throw notFound(`profile ${profile}`, suggestName(profile, Object.keys(profiles)));
  }
  const subject = await resolveSubject(context, handle, document, query);
  const { scopes, viewer, keyRequired } = subject;
  const blockedBy = [...subject.blockedBy, ...suspensionReasons(record, subject.id, profile)];
  const view = createView(catalog, { profile, scopes });
  const findIn = async (seen: View) =>
    query.kind === "resources"
      ? findResource(seen, handle, query.name)
      : findByName(seen, { ...query, kind: query.kind }, record.deprecatedNames);
  const match = await findIn(view);
  const hiddenDefinitions = getHiddenDefinitions(catalog, viewer, profile);
  const visibleMatch = hiddenDefinitions
    ? await findIn(createView(catalog, { profile, scopes, hidden: hiddenDefinitions }))
    : match;
  const isHidden = visibleMatch.listedAs !== match.listedAs;
  const { reasons, denials, scopeReason } = explainVisibility(
    document,
    accessFilterOf(document, profile, scopes),
    query.kind,
    match.target,
  );
  const { target, listedAs } = match;
  const sources = sourceReasons(view.sources, document, { ...query, target, isListed: listedAs !== null });
  const codeVisibility = isHidden ? { reason: hiddenReason(viewer), isKnown: typeof viewer !== "string" } : undefined;
  const isAdmitted = blockedBy.length === 0;
  const result = {
    visible: isAdmitted && visibleMatch.listedAs !== null,
    callable: isAdmitted && !isHidden && visibleMatch.callable,
    listedAs: visibleMatch.listedAs,
  };
  const { hiddenReasons, unreadSources } = sources;
  const findings = {
    blockedBy,
    hidden: codeVisibility,
    matchReasons: match.missingReasons,
    denials,
    hiddenReasons,
    unreadSources,
    unknownCaller: subject.unknown,
  };
  return {
    ...result,
    reasons: [
      ...blockedBy,
      ...(codeVisibility ? [codeVisibility.reason] : []),
      ...match.reasons,
      ...(subject.unknown === undefined ? reasons : reasons.filter((reason) => reason !== scopeReason)),
      ...sources.all,
      ...(await exceededLimitReasons(context, handle)),
      ...pendingSuspensionReasons(await getPendingSuspensions(context.env, handle, stored), match.target),
    ],
    ...explainDecision(findings, {
      isVisible: result.visible,
      isCallable: result.callable,
      exists: exists(view, query, match),
    }),
    causes: [
      ...(keyRequired === undefined ? [] : [{ reason: keyRequired, code: "key-required" as const }]),
      ...sources.causes,
    ],
  };
}

function pendingSuspensionReasons(pending: readonly Suspension[], target: string | undefined): readonly string[] {
  const matching = pending.filter(({ kind, name }) => kind === "tenant" || name === target);
  return matching.map(({ kind, name, note }) => `on its way to this tenant: ${kind} ${name} is suspended: ${note}`);
}

/** The request may use the listed name of the definition. */
function sourceNameOf(name: string, { sources }: TenantCatalog): string {
  return namesByListedName(sources).get(name) ?? name;
}

/** Whether a definition of the name exists, before visibility rules apply. */
function exists({ sources }: View, { kind }: ExplainRequest, { target, listedAs, isStored }: ExplainMatch): boolean {
  if (listedAs !== null || isStored === true) return true;
  return kind !== "resources" && sources.some((source) => source[kind].some(({ name }) => name === target));
}

/**
 * The definitions that the author's `visible` hides. Without a named subject, that is everything not visible to all
 * callers.
 */
function getHiddenDefinitions(
  offer: TenantCatalog,
  viewer: ExplainSubject["viewer"],
  profile: string | null,
): HiddenDefinitions | undefined {
  const { catalog, tenant } = offer;
  if (typeof viewer === "string") return catalog.guarded && { key: "", definitions: new Set(catalog.guarded) };
  return findHidden(offer, { principal: viewer, tenant: { id: tenant.id, profile } }, () => {});
}

function hiddenReason(viewer: ExplainSubject["viewer"]): string {
  return `code: visible ${typeof viewer === "string" ? `decides, but ${viewer}` : "hides it"}`;
}

/** Limits that refused a caller lately: a visible definition may have been refused for that reason. */
async function exceededLimitReasons(context: AdminContext, handle: TenantHandle): Promise<string[]> {
  const { exceeded } = await getLimitUsage(context, handle);
  return exceeded.map(
    ({ name, most, caller, at }) => `limit: ${name} of ${most} was reached by ${caller}, last at ${at}`,
  );
}

function accessFilterOf(
  document: TenantDocument,
  profile: string | null,
  scopes: readonly string[] | undefined,
): AccessFilter {
  return {
    profile: profile === null ? undefined : document.profiles?.[profile],
    scopes: scopes?.flatMap((name) => document.scopes?.[name] ?? []),
  };
}

function suspensionReasons({ suspensions }: TenantRecord, principal: string, profile: string | null): string[] {
  return suspensions
    .filter(
      ({ kind, name }) =>
        kind === "tenant" || (kind === "profile" && name === profile) || (kind === "principal" && name === principal),
    )
    .map(({ kind, note }) => `${kind}: suspended, ${note}`);
}

interface ExplainMatch {
  /** The name before any renaming. */
  readonly target: string;
  readonly listedAs: string | null;
  readonly callable: boolean;
  readonly reasons: readonly string[];
  /** Those of the reasons that explain why nothing can be called. */
  readonly missingReasons: readonly string[];
  /** For a resource: whether it exists, for any caller. */
  readonly isStored?: boolean;
}

type NameRequest = ExplainRequest & { readonly kind: "tools" | "prompts" };

function findByName(view: View, request: NameRequest, deprecated: readonly DeprecatedName[]): ExplainMatch {
  const { kind, name, profile = null } = request;
  const deprecation = deprecated.find((one) => one.kind === kind && one.profile === profile && one.name === name);
  const entry = findListed(view[kind], name, deprecation);
  const callable = lookupCallable(view, kind, name) ?? (entry && lookupCallable(view, kind, entry.wire.name));
  const reasons = rejectionReasons(
    callable,
    `${kind}: nothing is listed or callable as ${name}${suggestionText(view, kind, name)}`,
  );
  return {
    target: entry?.target.name ?? deprecation?.target ?? name,
    listedAs: entry?.wire.name ?? null,
    callable: callable !== undefined && "target" in callable,
    reasons: [...renameReasons(entry, name), ...(deprecation ? [deprecationReason(deprecation)] : []), ...reasons],
    missingReasons: reasons,
  };
}

type NamedListing = View["tools"] | View["prompts"];

/** The entry listed under this name, or else the entry that the name refers to after renaming or deprecation. */
function findListed(
  listing: NamedListing,
  name: string,
  deprecation: DeprecatedName | undefined,
): NamedListing[number] | undefined {
  const target = deprecation?.target ?? name;
  return listing.find((entry) => entry.wire.name === name) ?? listing.find((entry) => entry.target.name === target);
}

/** A name with an upstream's prefix belongs to that upstream, whose own reasons suggest a name. */
function suggestionText(view: View, kind: NameRequest["kind"], name: string): string {
  if (view.sources.some(({ id }) => name.startsWith(`${id}__`))) return "";
  const names = view[kind].map((entry) => entry.wire.name);
  const suggestion = names.includes(name) ? undefined : suggestName(name, names);
  return suggestion === undefined ? "" : `: did you mean ${suggestion}?`;
}

function lookupCallable(view: View, kind: NameRequest["kind"], name: string) {
  return kind === "tools" ? view.tool(name, Date.now()) : view.prompt(name, Date.now());
}

function renameReasons(entry: NamedListing[number] | undefined, name: string): string[] {
  const { listedName } = entry?.target ?? {};
  const by = entry?.wire.name === listedName ? "gateway" : "profile";
  const renamed = entry && entry.wire.name !== name ? [`${by}: listed as ${entry.wire.name}`] : [];
  return [...renamed, ...flagReasons(entry?.target.wire)];
}

function flagReasons(wire: JsonObject | undefined): string[] {
  const flags = isObject(wire?._meta) ? wire._meta[FLAGS_KEY] : undefined;
  return Array.isArray(flags) ? [`upstream: flagged, ${flags.join(", ")}`] : [];
}

function rejectionReasons(callable: ReturnType<typeof lookupCallable>, notFoundText: string): string[] {
  if (callable === undefined) return [notFoundText];
  return "target" in callable ? [] : [`call: ${callable.message ?? callable.error}`];
}

function deprecationReason({ name, successor, until }: DeprecatedName): string {
  return `${name}: now ${successor}, callable until ${new Date(until).toISOString()}`;
}

async function findResource(view: View, { content }: TenantHandle, name: string): Promise<ExplainMatch> {
  const parsed = parseUri(name);
  const uri = "uri" in parsed ? parsed.uri : name;
  const isStored = view.resourcesByUri.has(uri) || (await content.get(uri)) !== undefined;
  const isVisible = view.sees(uri);
  const reasons = isStored ? [] : [`resources: nothing is stored as ${uri}`];
  return {
    target: uri,
    listedAs: isStored && isVisible ? uri : null,
    callable: isStored && isVisible,
    isStored: isStored,
    reasons: [...(isStored ? flagReasons(view.resourcesByUri.get(uri)?.wire) : []), ...reasons],
    missingReasons: reasons,
  };
}

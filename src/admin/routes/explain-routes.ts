// Owns saying why somebody sees a tool, a prompt or a resource, or does not: the view that they would get is computed,
// and every rule that had a say is named. Decides nothing itself.

import { hiddenOf, type Hidden } from "../../content/serve/hidden.ts";
import type { Suspension } from "../../tenants/document/visibility.ts";
import type { Offer } from "../../content/serve/sources.ts";
import { viewOf, type View } from "../../content/serve/view.ts";
import { FLAGS_KEY } from "../../gateway/review/definition-flags.ts";
import { isObject, type JsonObject } from "../../protocol/jsonrpc.ts";
import { nearName } from "../near-name.ts";
import { parseUri } from "../../protocol/uri.ts";
import type { RetiredName, TenantRecord } from "../../tenants/authority/policy-records.ts";
import type { TenantDocument } from "../../tenants/document/tenant-document.ts";
import { judge, type Eyes } from "../../tenants/document/visibility.ts";
import type { Explained, Infer } from "../contract.ts";
import { notFound } from "../problem.ts";
import { routes, type Desk } from "../route.ts";
import { askerOf, type Asker } from "../apply/explain-asker.ts";
import { sourceReasons } from "../apply/explain-sources.ts";
import { verdictOf } from "../apply/explain-verdict.ts";
import { limitUse } from "../apply/limit-rules.ts";
import { changedNames, tenantOffer } from "../apply/tenant-offer.ts";
import { onItsWay, withBlocks } from "../apply/stopped-everywhere.ts";
import { findManaged, readRecord, type Managed } from "../apply/tenant-access.ts";
import type { ExplainQuery } from "../endpoints/record-endpoints.ts";
import { EXPLAIN_ENDPOINTS } from "../endpoints/record-endpoints.ts";

type Ask = Infer<typeof ExplainQuery>;

export const explainRoutes = routes(EXPLAIN_ENDPOINTS, {
  "GET /tenants/{id}/explain": async (call) => ({
    body: await explain(call, await findManaged(call, call.params.id), call.query),
  }),
});

async function explain(desk: Desk, managed: Managed, asked: Ask): Promise<Infer<typeof Explained>> {
  const stored = await readRecord(managed);
  const record = withBlocks(stored);
  const offer = await tenantOffer(desk, managed, record);
  const { document } = offer;
  const ask = { ...asked, name: policyNameOf(asked.name, offer) };
  const { profile = null } = ask;
  const { profiles = {} } = document;
  if (profile !== null && !Object.hasOwn(profiles, profile)) {
    throw notFound(`profile ${profile}`, nearName(profile, Object.keys(profiles)));
  }
  const asker = await askerOf(desk, managed, document, ask);
  const { scopes, viewer, keyRequired } = asker;
  const barred = [...asker.barred, ...suspendedBy(record, asker.id, profile)];
  const view = viewOf(offer, { profile, scopes });
  const lookIn = async (seen: View) =>
    ask.kind === "resources"
      ? lookForResource(seen, managed, ask.name)
      : lookForName(seen, { ...ask, kind: ask.kind }, record.retired);
  const found = await lookIn(view);
  const hidden = hiddenBefore(offer, viewer, profile);
  const seen = hidden ? await lookIn(viewOf(offer, { profile, scopes, hidden })) : found;
  const isHidden = seen.listedAs !== found.listedAs;
  const { reasons, against, ofScopes } = judge(document, eyesOf(document, profile, scopes), ask.kind, found.target);
  const { target, listedAs } = found;
  const sources = sourceReasons(view.sources, document, { ...ask, target, isListed: listedAs !== null });
  const code = isHidden ? { reason: hiddenText(viewer), isKnown: typeof viewer !== "string" } : undefined;
  const isLetIn = barred.length === 0;
  const outcome = {
    visible: isLetIn && seen.listedAs !== null,
    callable: isLetIn && !isHidden && seen.callable,
    listedAs: seen.listedAs,
  };
  const { withheld, unread } = sources;
  const findings = { barred, hidden: code, found: found.why, against, withheld, unread, unnamed: asker.unknown };
  return {
    ...outcome,
    reasons: [
      ...barred,
      ...(code ? [code.reason] : []),
      ...found.reasons,
      ...(asker.unknown === undefined ? reasons : reasons.filter((reason) => reason !== ofScopes)),
      ...sources.all,
      ...(await limitsMet(desk, managed)),
      ...comingReasons(await onItsWay(desk.env, managed, stored), found.target),
    ],
    ...verdictOf(findings, {
      isVisible: outcome.visible,
      isCallable: outcome.callable,
      isThere: isThere(view, ask, found),
    }),
    causes: [
      ...(keyRequired === undefined ? [] : [{ reason: keyRequired, code: "key-required" as const }]),
      ...sources.causes,
    ],
  };
}

function comingReasons(coming: readonly Suspension[], target: string | undefined): readonly string[] {
  const about = coming.filter(({ kind, name }) => kind === "tenant" || name === target);
  return about.map(({ kind, name, note }) => `on its way to this tenant: ${kind} ${name} is suspended: ${note}`);
}

/** What was asked may be the name under which it is listed. */
function policyNameOf(name: string, { sources }: Offer): string {
  return changedNames(sources).get(name) ?? name;
}

/** Whether there is anything of the name before anybody's eyes are asked. */
function isThere({ sources }: View, { kind }: Ask, { target, listedAs, isStored }: Found): boolean {
  if (listedAs !== null || isStored === true) return true;
  return kind !== "resources" && sources.some((source) => source[kind].some(({ name }) => name === target));
}

/** What the author hides from them, where nobody is named all that is not for everybody. */
function hiddenBefore(offer: Offer, viewer: Asker["viewer"], profile: string | null): Hidden | undefined {
  const { catalog, tenant } = offer;
  if (typeof viewer === "string") return catalog.guarded && { key: "", things: new Set(catalog.guarded) };
  return hiddenOf(offer, { principal: viewer, tenant: { id: tenant.id, profile } }, () => {});
}

function hiddenText(viewer: Asker["viewer"]): string {
  return `code: visible ${typeof viewer === "string" ? `decides, and ${viewer}` : "hides it"}`;
}

/** Which limits refused somebody lately: what is visible may have been refused for that. */
async function limitsMet(desk: Desk, managed: Managed): Promise<string[]> {
  const { met } = await limitUse(desk, managed);
  return met.map(({ name, most, who, at }) => `limit: ${name} of ${most} was met by ${who}, noted last at ${at}`);
}

function eyesOf(document: TenantDocument, profile: string | null, scopes: readonly string[] | undefined): Eyes {
  return {
    profile: profile === null ? undefined : document.profiles?.[profile],
    scopes: scopes?.flatMap((name) => document.scopes?.[name] ?? []),
  };
}

function suspendedBy({ suspensions }: TenantRecord, principal: string, profile: string | null): string[] {
  return suspensions
    .filter(
      ({ kind, name }) =>
        kind === "tenant" || (kind === "profile" && name === profile) || (kind === "principal" && name === principal),
    )
    .map(({ kind, note }) => `${kind}: suspended, ${note}`);
}

interface Found {
  /** The name before any renaming. */
  readonly target: string;
  readonly listedAs: string | null;
  readonly callable: boolean;
  readonly reasons: readonly string[];
  /** Those of them that say why there is nothing to call. */
  readonly why: readonly string[];
  /** Of a resource: whether it is there, whoever sees it. */
  readonly isStored?: boolean;
}

type NameAsk = Ask & { readonly kind: "tools" | "prompts" };

function lookForName(view: View, ask: NameAsk, retired: readonly RetiredName[]): Found {
  const { kind, name, profile = null } = ask;
  const left = retired.find((one) => one.kind === kind && one.profile === profile && one.name === name);
  const there = findListed(view[kind], name, left);
  const answered = callOf(view, kind, name) ?? (there && callOf(view, kind, there.wire.name));
  const why = refusalText(answered, `${kind}: nothing is listed or callable as ${name}${alike(view, kind, name)}`);
  return {
    target: there?.target.name ?? left?.target ?? name,
    listedAs: there?.wire.name ?? null,
    callable: answered !== undefined && "target" in answered,
    reasons: [...renamedText(there, name), ...(left ? [retiredText(left)] : []), ...why],
    why,
  };
}

type Listing = View["tools"] | View["prompts"];

/** The entry that is listed under this name, else the one that the name stands for, renamed or retired. */
function findListed(listing: Listing, name: string, left: RetiredName | undefined): Listing[number] | undefined {
  const target = left?.target ?? name;
  return listing.find((entry) => entry.wire.name === name) ?? listing.find((entry) => entry.target.name === target);
}

/** What begins as the names of an upstream do is that one's, which says what it has. */
function alike(view: View, kind: NameAsk["kind"], name: string): string {
  if (view.sources.some(({ id }) => name.startsWith(`${id}__`))) return "";
  const names = view[kind].map((entry) => entry.wire.name);
  const near = names.includes(name) ? undefined : nearName(name, names);
  return near === undefined ? "" : `: did you mean ${near}?`;
}

function callOf(view: View, kind: NameAsk["kind"], name: string) {
  return kind === "tools" ? view.tool(name, Date.now()) : view.prompt(name, Date.now());
}

function renamedText(there: Listing[number] | undefined, name: string): string[] {
  const { listedName } = there?.target ?? {};
  const by = there?.wire.name === listedName ? "gateway" : "profile";
  const renamed = there && there.wire.name !== name ? [`${by}: listed as ${there.wire.name}`] : [];
  return [...renamed, ...flagsText(there?.target.wire)];
}

/** Of what an upstream offers. */
function flagsText(wire: JsonObject | undefined): string[] {
  const flags = isObject(wire?._meta) ? wire._meta[FLAGS_KEY] : undefined;
  return Array.isArray(flags) ? [`upstream: flagged, ${flags.join(", ")}`] : [];
}

function refusalText(answered: ReturnType<typeof callOf>, nothing: string): string[] {
  if (answered === undefined) return [nothing];
  return "target" in answered ? [] : [`call: ${answered.message ?? answered.error}`];
}

function retiredText({ name, successor, until }: RetiredName): string {
  return `${name}: now ${successor}, callable until ${new Date(until).toISOString()}`;
}

async function lookForResource(view: View, { content }: Managed, name: string): Promise<Found> {
  const parsed = parseUri(name);
  const uri = "uri" in parsed ? parsed.uri : name;
  const there = view.resourcesByUri.has(uri) || (await content.get(uri)) !== undefined;
  const seen = view.sees(uri);
  const why = there ? [] : [`resources: nothing is stored as ${uri}`];
  return {
    target: uri,
    listedAs: there && seen ? uri : null,
    callable: there && seen,
    isStored: there,
    reasons: [...(there ? flagsText(view.resourcesByUri.get(uri)?.wire) : []), ...why],
    why,
  };
}

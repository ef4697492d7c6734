// Owns saying why somebody sees a tool, a prompt or a resource, or does not: the view that they would get is computed,
// and every rule that had a say is named. Decides nothing itself.

import { hiddenOf, type Hidden } from "../../content/serve/hidden.ts";
import type { Offer } from "../../content/serve/sources.ts";
import { viewOf, type View } from "../../content/serve/view.ts";
import { whyWithHost } from "../../gateway/guard/led-to.ts";
import { FLAGS_KEY } from "../../gateway/review/definition-flags.ts";
import { isObject, type JsonObject } from "../../protocol/jsonrpc.ts";
import { nearest } from "../../protocol/nearest.ts";
import type { SourceState } from "../../protocol/source.ts";
import { parseUri } from "../../protocol/uri.ts";
import type { RetiredName, TenantRecord } from "../../tenants/authority/policy-records.ts";
import type { TenantDocument } from "../../tenants/document/tenant-document.ts";
import { judge, type Eyes } from "../../tenants/document/visibility.ts";
import { Explained, STATE_WORDS, type Infer } from "../contract.ts";
import { notFound } from "../problem.ts";
import { ROLES, route, type Desk, type Route } from "../route.ts";
import { object, oneOf, textUpTo } from "../shapes.ts";
import { askerOf, type Asker } from "../apply/explain-asker.ts";
import { limitUse } from "../apply/limit-rules.ts";
import { tenantOffer } from "../apply/tenant-offer.ts";
import { findManaged, readRecord, type Managed } from "../apply/tenant-access.ts";
import { TenantParams } from "./tenant-routes.ts";

const ExplainQuery = object(
  {
    kind: oneOf("tools", "prompts", "resources"),
    name: { ...textUpTo(2048, 1), description: "In code or as it is listed; a URI for resources." },
  },
  {
    profile: textUpTo(40),
    key: { ...textUpTo(40), description: "A key's id; nobody in particular when absent." },
    user: {
      ...textUpTo(4096, 1),
      description: "A user of the app that mounts the Worker: JSON, as its `authenticate` says it.",
    },
  },
);
type Ask = Infer<typeof ExplainQuery>;

export const explainRoutes: readonly Route[] = [
  route({
    method: "get",
    path: "/tenants/{id}/explain",
    summary: "Why is this visible or not, in this profile, and with this key or for this user?",
    roles: ROLES.tenantRead,
    params: TenantParams,
    query: ExplainQuery,
    replies: [{ status: 200, schema: Explained, about: "The verdict, and each rule that had a say" }],
    handle: async (call) => ({ body: await explain(call, await findManaged(call, call.params.id), call.query) }),
  }),
];

async function explain(desk: Desk, managed: Managed, ask: Ask): Promise<Infer<typeof Explained>> {
  const record = await readRecord(managed);
  const offer = await tenantOffer(desk, managed, record);
  const { document } = offer;
  const { profile = null } = ask;
  const { profiles = {} } = document;
  if (profile !== null && !Object.hasOwn(profiles, profile)) {
    throw notFound(`profile ${profile}`, nearest(profile, Object.keys(profiles)));
  }
  const asker = await askerOf(desk, managed, document, ask);
  const { scopes, viewer } = asker;
  const barred = [...asker.barred, ...suspendedBy(record, asker.id, profile)];
  const view = viewOf(offer, { profile, scopes });
  const lookIn = async (seen: View) =>
    ask.kind === "resources"
      ? lookForResource(seen, managed, ask.name)
      : lookForName(seen, { ...ask, kind: ask.kind }, record.retired);
  const found = await lookIn(view);
  const hidden = hiddenBefore(offer, viewer, profile);
  const seen = hidden ? withheldIn(found, await lookIn(viewOf(offer, { profile, scopes, hidden })), viewer) : found;
  const { reasons } = judge(document, eyesOf(document, profile, scopes), ask.kind, found.target);
  const isLetIn = barred.length === 0;
  return {
    visible: isLetIn && seen.listedAs !== null,
    callable: isLetIn && seen.callable,
    listedAs: seen.listedAs,
    reasons: [
      ...barred,
      ...seen.reasons,
      ...reasons,
      ...sourceReasons(view, document, { ask, found }),
      ...(await limitsMet(desk, managed)),
    ],
  };
}

/** What the author hides from them, where nobody is named all that is not for everybody. */
function hiddenBefore(offer: Offer, viewer: Asker["viewer"], profile: string | null): Hidden | undefined {
  const { catalog, tenant } = offer;
  if (typeof viewer === "string") return catalog.guarded && { key: "", things: new Set(catalog.guarded) };
  return hiddenOf(offer, { principal: viewer, tenant: { id: tenant.id, profile } }, () => {});
}

function withheldIn(found: Found, { listedAs }: Found, viewer: Asker["viewer"]): Found {
  if (listedAs === found.listedAs) return found;
  const why = typeof viewer === "string" ? `decides, and ${viewer}` : "hides it";
  return { ...found, listedAs, callable: false, reasons: [`code: visible ${why}`, ...found.reasons] };
}

/** What a source leaves out, and what it may lack because it could not be read. */
function sourceReasons(
  { sources }: View,
  document: TenantDocument,
  { ask: { kind, name }, found: { target, listedAs } }: { readonly ask: Ask; readonly found: Found },
): string[] {
  const off = disabledReasons(document, target);
  const isOf = (id: string) => target.startsWith(`${id}__`);
  // What is nowhere, and has no source's name before it, may be of each that could not be read.
  const mayBeAnyones = listedAs === null && off.length === 0 && !sources.some(({ id }) => isOf(id));
  const said = sources.flatMap((source) => {
    const { id, state, leadsTo, withheld } = source;
    const left = (withheld?.() ?? []).filter((one) => one.kind === kind && [name, target].includes(one.name));
    if (left.length > 0) return left.map(({ why }) => `source ${id}: leaves it out: ${why}`);
    return [
      ...(isOf(id) || mayBeAnyones ? stateReasons(id, { state, leadsTo }, listedAs !== null) : []),
      ...(isOf(id) && state.kind !== "unread" && kind !== "resources" ? unlistedReasons(id, source[kind], target) : []),
    ];
  });
  return [...said, ...off];
}

/** What is switched off is no source, so nothing else says why its definitions are nowhere. */
function disabledReasons({ upstreams = {} }: TenantDocument, target: string): string[] {
  return Object.entries(upstreams)
    .filter(([id, { enabled }]) => enabled === false && target.startsWith(`${id}__`))
    .map(([id]) => `source ${id}: ${STATE_WORDS.disabled}`);
}

function stateReasons(
  id: string,
  { state, leadsTo }: { readonly state: SourceState; readonly leadsTo: string | undefined },
  isListed: boolean,
): string[] {
  if (state.kind === "fresh" || (state.kind === "degraded" && isListed)) return [];
  const since =
    state.kind === "lastGood" ? ` since ${new Date(state.since).toISOString()}, what it had then stays` : "";
  return [`source ${id}: ${STATE_WORDS[state.kind]}: ${whyWithHost(state.why, leadsTo)}${since}`];
}

/** A name that is misspelt, or that its upstream has no more. */
function unlistedReasons(id: string, has: readonly { readonly name: string }[], target: string): string[] {
  const names = has.map((one) => one.name);
  // What all of them begin with says nothing about how near they are.
  const own = (name: string) => name.slice(id.length + 2);
  const near = nearest(own(target), names.map(own));
  const meant = near === undefined ? "" : `: did you mean ${id}__${near}?`;
  return names.includes(target) ? [] : [`source ${id}: lists nothing under this name${meant}`];
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
}

type NameAsk = Ask & { readonly kind: "tools" | "prompts" };

function lookForName(view: View, ask: NameAsk, retired: readonly RetiredName[]): Found {
  const { kind, name, profile = null } = ask;
  const left = retired.find((one) => one.kind === kind && one.profile === profile && one.name === name);
  const there = findListed(view[kind], name, left);
  const answered = callOf(view, kind, name) ?? (there && callOf(view, kind, there.wire.name));
  return {
    target: there?.target.name ?? left?.target ?? name,
    listedAs: there?.wire.name ?? null,
    callable: answered !== undefined && "target" in answered,
    reasons: [
      ...renamedText(there, name),
      ...(left ? [retiredText(left)] : []),
      ...refusalText(answered, `${kind}: nothing is listed or callable as ${name}${alike(view, kind, name)}`),
    ],
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
  const near = names.includes(name) ? undefined : nearest(name, names);
  return near === undefined ? "" : `: did you mean ${near}?`;
}

function callOf(view: View, kind: NameAsk["kind"], name: string) {
  return kind === "tools" ? view.tool(name, Date.now()) : view.prompt(name, Date.now());
}

function renamedText(there: Listing[number] | undefined, name: string): string[] {
  const renamed = there && there.wire.name !== name ? [`profile: listed as ${there.wire.name}`] : [];
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
  return {
    target: uri,
    listedAs: there && seen ? uri : null,
    callable: there && seen,
    reasons: there ? flagsText(view.resourcesByUri.get(uri)?.wire) : [`resources: nothing is stored as ${uri}`],
  };
}

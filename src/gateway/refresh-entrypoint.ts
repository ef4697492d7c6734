// Owns reading one upstream's definitions anew, in an invocation of its own: what was read becomes a section of the
// tenant's lease, and what could not be read becomes a note beside the last good one. Sessions are ended here too, for the
// object that keeps them. Only the Worker itself reaches it.

import type { Cause } from "../protocol/cause.ts";
import type { ListedKind } from "../protocol/definition.ts";
import { exports, WorkerEntrypoint } from "cloudflare:workers";
import { McpFault, retryAfterMs, type Fault } from "../mcp-client/fault.ts";
import { OutboundError } from "../outbound/outbound-error.ts";
import type { OutboundVars } from "../outbound/outbound-door.ts";
import { contentStubOf } from "../content/store/content-door.ts";
import { contentTables } from "../content/store/content-tables.ts";
import type { BuiltInFeature } from "../deployment/deployment.ts";
import { sectionPlace } from "../deployment/leased-sections.ts";
import { registered } from "../deployment/registry.ts";
import type { JsonObject } from "../protocol/jsonrpc.ts";
import { MAX_SECTIONS_BYTES, sectionTables } from "../tenants/authority/section-tables.ts";
import { keptUnder, type Incarnation, type TenantStub } from "../tenants/authority/incarnation.ts";
import { remote } from "../tenants/authority/tables.ts";
import type { Placement } from "../tenants/directory/placement.ts";
import { stubOf } from "../tenants/directory/tenant-stub.ts";
import type { UpstreamDocument } from "../tenants/document/tenant-document.ts";
import { loadSection, writeSection, type SectionPlace } from "../tenants/isolate/sections.ts";
import { KEY_OF } from "./check-definition.ts";
import type { RemoteEndpoint } from "../mcp-client/remote-endpoint.ts";
import { AnswerRoom } from "./guard/answer-room.ts";
import { TokenRefusal, type TokenHow } from "./guard/access-token.ts";
import { serviceOf, UnboundService, type Services } from "./guard/service-binding.ts";
import { Redaction } from "./guard/redaction.ts";
import { gatewayTables } from "./gateway-tables.ts";
import { readingFetch, tokenFetch } from "./outbound-fetch.ts";
import { putReviewed } from "./review/review-catalog.ts";
import { capsWith, readCatalog, type CatalogCaps } from "./read-catalog.ts";
import { causeOf, operatorDetail, reasonFor, unreadReason, type Reason } from "./unread-reason.ts";
import {
  decodeCatalog,
  encodeCatalog,
  flagCatalog,
  lackOf,
  withLastGood,
  type Quarantined,
  type UpstreamCatalog,
} from "./upstream-catalog.ts";
import { endpointOf, isTokenStale, withToken, type FilledHeaders } from "./upstream-config.ts";
import { isUi } from "./uris/ui-uris.ts";
import { normalOf, prefixOf, type UriPrefix } from "./uris/uri-owners.ts";
import { sessionsEnded } from "./sessions/end-sessions.ts";
import { REFRESHES, type EndOrder, type SessionEndings } from "./sessions/upstream-object.ts";
import { surveyLink } from "./upstream-link.ts";

export interface RefreshOrder {
  readonly tenant: string;
  readonly placement: Placement;
  readonly incarnation: Incarnation;
  readonly id: string;
  readonly config: string;
  readonly upstream: UpstreamDocument;
  /** The headers with the secrets filled in; or why they could not be. */
  readonly filled: FilledHeaders | Reason;
  readonly clientInfo: JsonObject;
  /** The hash of the section with what was read last; absent: there is none. */
  readonly last?: string | undefined;
  /** The `uris` of all upstreams. What one of them covers is decided here; only other URIs are claimed at the authority. */
  readonly prefixes: readonly UriPrefix[];
}

export interface RefreshBinding {
  /**
   * Resolves when the upstream was read, or a note was written why it could not be. What it resolves with is a failure on our
   * side, which only an operator is shown. Rejects where not even a note could be written.
   */
  refresh(order: RefreshOrder): Promise<string | undefined>;
}

interface RefreshEnv extends OutboundVars {
  readonly BODIES: KVNamespace;
}

/**
 * How long all of an upstream's lists together may take. Whoever asked may end half a minute after it began, and what goes on
 * after that has as long: what was found must be written down by then.
 */
const READ_WITHIN_MS = 40_000;
const DEFAULT_TTL_MS = 300_000;
/** Where one of the lists could not be read. */
const UNREAD_TTL_MS = 60_000;
const SHORTEST_TTL_MS = 10_000;
const LONGEST_TTL_MS = 3_600_000;

export const catalogSection = (id: string): string => `upstream:${id}`;
export const failingSection = (id: string): string => `upstream-failing:${id}`;

/** What a section says of an upstream that could not be read. */
export interface FailingNote {
  readonly of: string;
  readonly since: number;
  readonly why: string;
  readonly causes?: readonly Cause[];
  /** For operators alone: `operatorDetail`. */
  readonly detail?: string | undefined;
}

/** As the entrypoint finds it. */
export interface GatewayFeature extends BuiltInFeature {
  /** What the Worker's author exposes. */
  readonly services: Services;
  /** The most that one reading takes. */
  readonly mostPages: number;
}

export class UpstreamRefreshes extends WorkerEntrypoint<RefreshEnv> implements RefreshBinding, SessionEndings {
  async refresh(order: RefreshOrder): Promise<string | undefined> {
    const { services, mostPages: pages } = registered("gateway").feature as GatewayFeature;
    const at = { env: this.env, services, pages, waitUntil: (asking: Promise<unknown>) => this.ctx.waitUntil(asking) };
    const work = refreshed(order, at);
    // Whoever asked may be gone before it is done.
    this.ctx.waitUntil(work);
    return work;
  }

  async endSessions(order: EndOrder): Promise<readonly string[]> {
    const { services } = registered("gateway").feature as GatewayFeature;
    return sessionsEnded(order, { env: this.env, services, waitUntil: (asking) => this.ctx.waitUntil(asking) });
  }
}

/** Has an upstream read in an invocation of its own. */
export async function startRefresh(order: RefreshOrder): Promise<string | undefined> {
  const entrypoints = exports as unknown as Readonly<Record<string, RefreshBinding | undefined>>;
  const refreshes = entrypoints[REFRESHES];
  if (!refreshes) throw new TypeError(`the Worker does not export ${REFRESHES}`);
  return refreshes.refresh(order);
}

/** Why an upstream could not be read, in words that its tenant's callers may see. */
export class NotRead extends Error {
  override readonly name = "NotRead";
  readonly causes: readonly Cause[];
  /** undefined: it was not asked. */
  readonly fault: Fault | undefined;
  /** What only operators are told beside. */
  readonly detail: string | undefined;

  constructor({ why, causes }: Reason, fault?: Fault, detail?: string) {
    super(why);
    this.causes = causes;
    this.fault = fault;
    this.detail = detail;
  }
}

const FULL = reasonFor(
  "too-much",
  `with its lists, those of the tenant's upstreams are more than ${MAX_SECTIONS_BYTES} bytes together`,
);

interface RefreshedAt {
  readonly env: RefreshEnv;
  readonly services: Services;
  readonly pages: number;
  readonly waitUntil: TokenHow["waitUntil"];
}

async function refreshed(order: RefreshOrder, at: RefreshedAt): Promise<string | undefined> {
  const { env } = at;
  const { tenant, placement, incarnation, id, config } = order;
  const stub = () => stubOf(env, { id: tenant, placement, incarnation });
  const place = sectionPlace(keptUnder(tenant, incarnation), env.BODIES, stub);
  const write = (name: string, bytes: Uint8Array) => writeSection(place, { name, bytes });
  let lacks: string | null = null;
  const settle = (why: string | null, afterMs: number) =>
    remote(stub(), gatewayTables).settle({ id, config, why, lacks, afterMs, chance: Math.random() });
  try {
    const content = () => contentStubOf(env, { id: tenant, placement, incarnation });
    const signal = AbortSignal.timeout(READ_WITHIN_MS);
    const found = await completed(order, place, await read(order, { ...at, signal }));
    const catalog = await withoutTaken(order, { stub, content }, found);
    if (!catalog) return undefined;
    const put = async (one: UpstreamCatalog) => {
      const flagged = flagCatalog(one);
      lacks = lackOf(flagged) ?? null;
      return (await write(catalogSection(id), encodeCatalog(flagged))).state;
    };
    const state =
      order.upstream.trust === "review" ? await putReviewed({ id, config, catalog, stub, put }) : await put(catalog);
    if (state === "full") throw new NotRead(FULL);
    await remote(stub(), sectionTables).remove(failingSection(id));
    const ttlMs = Math.min(catalog.cache?.ttlMs ?? DEFAULT_TTL_MS, catalog.unread ? UNREAD_TTL_MS : Infinity);
    await settle(null, Math.min(Math.max(ttlMs, SHORTEST_TTL_MS), LONGEST_TTL_MS));
    return undefined;
  } catch (error) {
    const { why } = reasonOf(error);
    const fault = error instanceof NotRead ? error.fault : undefined;
    try {
      await noteWhy(order, stub, { error, write });
    } finally {
      await settle(why, (fault && retryAfterMs(fault, Date.now())) ?? 0);
    }
    return ofOurs(id, error);
  }
}

/** Of a list that could not be read, the last good definitions stay. */
async function completed(
  { last, config }: RefreshOrder,
  place: SectionPlace,
  catalog: UpstreamCatalog,
): Promise<UpstreamCatalog> {
  const isLastWanted = catalog.unread !== undefined || catalog.skipped !== undefined;
  const section = isLastWanted && last !== undefined ? await loadSection(place, last) : undefined;
  const before = section && decodeCatalog(section.bytes, config);
  return before && before !== "broken" ? withLastGood(catalog, before) : catalog;
}

interface Failing {
  readonly error: unknown;
  readonly write: (name: string, bytes: Uint8Array) => Promise<unknown>;
}

async function noteWhy({ id, config }: RefreshOrder, stub: () => TenantStub, { error, write }: Failing): Promise<void> {
  const since = await remote(stub(), gatewayTables).failing({ id, config });
  if (since === null) return;
  const detail = error instanceof NotRead ? error.detail : undefined;
  const note: FailingNote = { of: config, since, ...reasonOf(error), detail };
  await write(failingSection(id), new TextEncoder().encode(JSON.stringify(note)));
}

/** What failed and is nothing that the upstream did; undefined: it was the upstream. */
function ofOurs(id: string, error: unknown): string | undefined {
  return error instanceof NotRead || error instanceof TokenRefusal ? undefined : `upstream ${id}: ${String(error)}`;
}

/** `signal`: of all that it takes, with the access token, and with another one where that was refused. */
interface ReadAt extends RefreshedAt {
  readonly signal: AbortSignal;
}

async function read(order: RefreshOrder, at: ReadAt, mayRepeat = true): Promise<UpstreamCatalog> {
  const { env, services, waitUntil } = at;
  if ("why" in order.filled) throw new NotRead(order.filled);
  const leaving = { tenant: order.tenant, env, hops: 0 };
  const filled = await withToken(order.filled, { fetch: tokenFetch(leaving), now: Date.now, waitUntil });
  const redaction = new Redaction(filled.secrets);
  const room = new AnswerRoom(order.tenant);
  try {
    const leave = readingFetch(leaving, serviceOf(order.upstream, services, env));
    const endpoint = endpointOf(order.upstream, filled.headers, leave);
    const isFatal = (fault: Fault) => mayRepeat && isTokenStale(fault, filled);
    let skipped = 0;
    const skip = () => {
      skipped += 1;
    };
    const reading = { redaction, signal: at.signal, caps: capsWith(at.pages), isFatal };
    const catalog = await readWith(order, { ...endpoint, held: room.held, skipped: skip }, reading);
    return { ...catalog, ...(skipped > 0 && { skipped }) };
  } catch (error) {
    if (error instanceof UnboundService) throw new NotRead(reasonFor("service-missing", error.message));
    if (!(error instanceof McpFault)) throw error;
    if (mayRepeat && isTokenStale(error.fault, filled)) return read(order, at, false);
    const detail = redaction.value(operatorDetail(error.fault, filled.secrets));
    const { why, causes } = reasonOf(error);
    throw new NotRead({ why: redaction.value(why), causes }, error.fault, detail);
  } finally {
    room.release();
  }
}

interface Reading {
  readonly redaction: Redaction;
  readonly signal: AbortSignal;
  readonly caps: CatalogCaps;
  readonly isFatal: (fault: Fault) => boolean;
}

async function readWith(
  { upstream: { era = "auto" }, clientInfo, id, config }: RefreshOrder,
  endpoint: RemoteEndpoint,
  { redaction, signal, caps, isFatal }: Reading,
): Promise<UpstreamCatalog> {
  const began = Date.now();
  const how = { endpoint, about: { clientInfo, capabilities: {} } };
  const link = await surveyLink(how, era === "auto" ? undefined : era, { signal });
  try {
    const ask: typeof link.ask = async (asked, asking) => {
      const message = await link.ask(asked, asking);
      return { ...message, result: redaction.json(message.result) };
    };
    const instructions = redaction.value(link.instructions);
    const withinMs = began + READ_WITHIN_MS - Date.now();
    const wordsOf = (fault: Fault) => redaction.value(unreadReason(fault, READ_WITHIN_MS));
    const reading = { id, of: config, caps, withinMs, signal, reasonOf: wordsOf, isFatal };
    return await readCatalog({ ...link, instructions, ask }, reading);
  } finally {
    await link.close();
  }
}

const WITH_URIS: readonly ListedKind[] = ["resources", "resourceTemplates"];

/** Leaves out what the tenant stores, and what another upstream has listed before. undefined: nobody wants it any more. */
async function withoutTaken(
  { id, config, prefixes }: RefreshOrder,
  { stub, content }: { readonly stub: () => TenantStub; readonly content: () => TenantStub },
  catalog: UpstreamCatalog,
): Promise<UpstreamCatalog | undefined> {
  const keys = WITH_URIS.flatMap((kind) => catalog.texts[kind].map((text) => uriKey(kind, text)));
  const uris = keys.filter((key) => !isUi(key) && prefixOf(prefixes, key) === undefined);
  const stored = new Set(uris.length === 0 ? [] : await remote(content(), contentTables).stored(uris));
  const left = uris.filter((uri) => !stored.has(uri));
  const owned = await remote(stub(), gatewayTables).own({ id, config, uris: left });
  if (owned === null) return undefined;
  const taken = new Map<string, Pick<Quarantined, "why" | "code">>([
    ...owned.map(([uri, owner]) => [uri, { why: `${owner} listed it first`, code: "uri-listed" }] as const),
    ...Array.from(stored, (uri) => [uri, { why: "the tenant stores it", code: "uri-stored" }] as const),
  ]);
  if (taken.size === 0) return catalog;
  const texts = { ...catalog.texts };
  const quarantined = [...catalog.quarantined];
  for (const kind of WITH_URIS) {
    texts[kind] = catalog.texts[kind].filter((text) => {
      const by = taken.get(uriKey(kind, text));
      if (by === undefined) return true;
      const name = String((JSON.parse(text) as JsonObject)[KEY_OF[kind]]).slice(0, 128);
      quarantined.push({ kind, name, ...by });
      return false;
    });
  }
  return { ...catalog, texts, quarantined };
}

function uriKey(kind: ListedKind, text: string): string {
  return normalOf(kind, String((JSON.parse(text) as JsonObject)[KEY_OF[kind]]));
}

export function reasonOf(error: unknown, withinMs = READ_WITHIN_MS): Reason {
  if (error instanceof NotRead) return { why: error.message, causes: error.causes };
  if (error instanceof TokenRefusal) return reasonFor("token-missing", error.message);
  if (!(error instanceof McpFault)) return { why: "it could not be read", causes: [] };
  const { fault, cause } = error;
  if (cause instanceof OutboundError) return reasonFor("unreachable", cause.message);
  return reasonFor(causeOf(fault), unreadReason(fault, withinMs));
}

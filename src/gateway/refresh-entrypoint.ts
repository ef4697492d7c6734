// Refreshes one upstream's catalog in an invocation of its own. The result becomes a section of the tenant's policy; a
// failure becomes a note beside the last good catalog. Also ends upstream sessions for the Durable Object that stores
// them. Reachable only from the Worker itself.

import type { Cause } from "../protocol/cause.ts";
import type { ListedKind } from "../protocol/definition.ts";
import { exports, WorkerEntrypoint } from "cloudflare:workers";
import { McpFault, retryAfterMs, type Fault } from "../mcp-client/fault.ts";
import { OutboundError } from "../outbound/outbound-error.ts";
import type { OutboundVars } from "../outbound/guarded-fetch.ts";
import { contentStubOf, tenantStubOf } from "../tenants/directory/tenant-stubs.ts";
import { contentStore } from "../resources/content-store.ts";
import type { BuiltInFeature } from "../deployment/deployment.ts";
import { sectionPlace } from "../deployment/leased-sections.ts";
import { requireFeature } from "../deployment/registry.ts";
import type { JsonObject } from "../protocol/jsonrpc.ts";
import { MAX_SECTIONS_BYTES, sectionStore } from "../tenants/object/section-store.ts";
import { storageKey, type TenantUid, type TenantStub } from "../tenants/object/tenant-uid.ts";
import { createRpcClient } from "../tenants/object/store.ts";
import type { Placement } from "../tenants/directory/placement.ts";
import type { UpstreamDocument } from "../tenants/document/tenant-document.ts";
import { loadSection, writeSection, type SectionLocation } from "../tenants/cache/section-cache.ts";
import { KEY_OF } from "./upstream-definition.ts";
import type { RemoteEndpoint } from "../mcp-client/remote-endpoint.ts";
import { ResponseBudget } from "./guard/response-budget.ts";
import { AccessTokenError, type TokenOptions } from "./guard/access-token.ts";
import { getServiceFetch, MissingServiceError, type Services } from "./guard/service-binding.ts";
import { Redaction } from "./guard/redaction.ts";
import { gatewayStore } from "./gateway-store.ts";
import { createCatalogFetch, createTokenFetch } from "./upstream-fetch.ts";
import { putReviewed } from "./review/review-catalog.ts";
import { limitsWithTotalPages, readCatalog, type CatalogLimits } from "./read-catalog.ts";
import { causeOf, operatorDetail, createReason, describeReadFault, type Reason } from "./read-failure.ts";
import {
  decodeCatalog,
  encodeCatalog,
  flagCatalog,
  describeGaps,
  withLastGood,
  type Quarantined,
  type UpstreamCatalog,
} from "./upstream-catalog.ts";
import { endpointOf, isTokenStale, withToken, type ResolvedHeaders } from "./upstream-config.ts";
import { isUiUri } from "./uris/ui-uris.ts";
import { normalizeListedUri, prefixOf, type UriPrefix } from "./uris/uri-owners.ts";
import { endUpstreamSessions } from "./sessions/end-sessions.ts";
import { REFRESH_ENTRYPOINT, type EndSessionsRequest, type EndSessionsRpc } from "./sessions/upstream-object.ts";
import { openCatalogLink } from "./upstream-link.ts";

export interface RefreshRequest {
  readonly tenant: string;
  readonly placement: Placement;
  readonly uid: TenantUid;
  readonly id: string;
  readonly configHash: string;
  readonly upstream: UpstreamDocument;
  /** Headers with the secrets filled in, or the reason why they could not be. */
  readonly resolvedHeaders: ResolvedHeaders | Reason;
  readonly clientInfo: JsonObject;
  /** Hash of the section from the last read. Absent if there is none. */
  readonly lastSection?: string | undefined;
  /**
   * `uris` of all upstreams. URIs that these prefixes cover are decided here; the tenant object is asked only about the
   * others.
   */
  readonly prefixes: readonly UriPrefix[];
}

export interface RefreshRpc {
  /**
   * Resolves when the catalog or a failure note has been written. The value is an internal error for operators only, or
   * undefined. Rejects if not even the note could be written.
   */
  refresh(request: RefreshRequest): Promise<string | undefined>;
}

interface RefreshEnv extends OutboundVars {
  readonly BODIES: KVNamespace;
}

/**
 * Time limit for all lists of an upstream. The caller may end half a minute after it began, and `waitUntil` work gets
 * about as long after that. The result must be written by then.
 */
const READ_TIMEOUT_MS = 40_000;
const DEFAULT_TTL_MS = 300_000;
/** Applies if one of the lists could not be read. */
const UNREAD_TTL_MS = 60_000;
const MIN_TTL_MS = 10_000;
const MAX_TTL_MS = 3_600_000;

export const catalogSection = (id: string): string => `upstream:${id}`;
export const failureSection = (id: string): string => `upstream-failing:${id}`;

export interface FailureNote {
  readonly of: string;
  readonly since: number;
  readonly why: string;
  readonly causes?: readonly Cause[];
  /** For operators only; see `operatorDetail`. */
  readonly detail?: string | undefined;
}

export interface GatewayFeature extends BuiltInFeature {
  /** Service bindings that the Worker's author exposes. */
  readonly services: Services;
  readonly maxPages: number;
}

/** Entrypoint that only the Worker itself calls: reads the lists of an upstream. */
export class UpstreamRefreshes extends WorkerEntrypoint<RefreshEnv> implements RefreshRpc, EndSessionsRpc {
  async refresh(request: RefreshRequest): Promise<string | undefined> {
    const { services, maxPages: pages } = requireFeature("gateway").feature as GatewayFeature;
    const runtime = { env: this.env, services, pages, waitUntil: (work: Promise<unknown>) => this.ctx.waitUntil(work) };
    const work = refreshCatalog(request, runtime);
    // The caller may be gone before the refresh completes.
    this.ctx.waitUntil(work);
    return work;
  }

  async endSessions(request: EndSessionsRequest): Promise<readonly string[]> {
    const { services } = requireFeature("gateway").feature as GatewayFeature;
    return endUpstreamSessions(request, { env: this.env, services, waitUntil: (work) => this.ctx.waitUntil(work) });
  }
}

/** Starts a refresh in an invocation of its own. */
export async function startRefresh(request: RefreshRequest): Promise<string | undefined> {
  const entrypoints = exports as unknown as Readonly<Record<string, RefreshRpc | undefined>>;
  const entrypoint = entrypoints[REFRESH_ENTRYPOINT];
  if (!entrypoint) throw new TypeError(`the Worker does not export ${REFRESH_ENTRYPOINT}`);
  return entrypoint.refresh(request);
}

/** Why an upstream could not be read, in words that the tenant's callers may see. */
export class RefreshError extends Error {
  override readonly name = "RefreshError";
  readonly causes: readonly Cause[];
  /** undefined if no request was sent. */
  readonly fault: Fault | undefined;
  /** For operators only. */
  readonly detail: string | undefined;

  constructor({ why, causes }: Reason, fault?: Fault, detail?: string) {
    super(why);
    this.causes = causes;
    this.fault = fault;
    this.detail = detail;
  }
}

const SECTIONS_FULL = createReason(
  "too-much",
  `the lists of all upstreams of this tenant have more than ${MAX_SECTIONS_BYTES} bytes together`,
);

interface RefreshRuntime {
  readonly env: RefreshEnv;
  readonly services: Services;
  readonly pages: number;
  readonly waitUntil: TokenOptions["waitUntil"];
}

async function refreshCatalog(request: RefreshRequest, runtime: RefreshRuntime): Promise<string | undefined> {
  const { env } = runtime;
  const { tenant, placement, uid, id, configHash } = request;
  const stub = () => tenantStubOf(env, { id: tenant, placement, uid });
  const location = sectionPlace(storageKey(tenant, uid), env.BODIES, stub);
  const writeNamedSection = (name: string, bytes: Uint8Array) => writeSection(location, { name, bytes });
  let missing: string | null = null;
  const completeRefresh = (why: string | null, afterMs: number) =>
    createRpcClient(stub(), gatewayStore).completeRefresh({
      id,
      configHash,
      why,
      missing,
      afterMs,
      jitter: Math.random(),
    });
  try {
    const content = () => contentStubOf(env, { id: tenant, placement, uid });
    const signal = AbortSignal.timeout(READ_TIMEOUT_MS);
    const listed = await keepLastGoodLists(request, location, await readRequested(request, { ...runtime, signal }));
    const catalog = await removeTakenUris(request, { stub, content }, listed);
    if (!catalog) return undefined;
    const put = async (one: UpstreamCatalog) => {
      const flagged = flagCatalog(one);
      missing = describeGaps(flagged) ?? null;
      return (await writeNamedSection(catalogSection(id), encodeCatalog(flagged))).state;
    };
    const state =
      request.upstream.trust === "review"
        ? await putReviewed({ id, configHash, catalog, stub, put })
        : await put(catalog);
    if (state === "full") throw new RefreshError(SECTIONS_FULL);
    await createRpcClient(stub(), sectionStore).remove(failureSection(id));
    const ttlMs = Math.min(catalog.cache?.ttlMs ?? DEFAULT_TTL_MS, catalog.unread ? UNREAD_TTL_MS : Infinity);
    await completeRefresh(null, Math.min(Math.max(ttlMs, MIN_TTL_MS), MAX_TTL_MS));
    return undefined;
  } catch (error) {
    const { why } = reasonOf(error);
    const fault = error instanceof RefreshError ? error.fault : undefined;
    try {
      await writeFailureNote(request, stub, { error, write: writeNamedSection });
    } finally {
      await completeRefresh(why, (fault && retryAfterMs(fault, Date.now())) ?? 0);
    }
    return internalErrorOf(id, error);
  }
}

/** Lists that could not be read keep their last good definitions. */
async function keepLastGoodLists(
  { lastSection, configHash }: RefreshRequest,
  location: SectionLocation,
  catalog: UpstreamCatalog,
): Promise<UpstreamCatalog> {
  const needsLast = catalog.unread !== undefined || catalog.skipped !== undefined;
  const section = needsLast && lastSection !== undefined ? await loadSection(location, lastSection) : undefined;
  const lastCatalog = section && decodeCatalog(section.bytes, configHash);
  return lastCatalog && lastCatalog !== "broken" ? withLastGood(catalog, lastCatalog) : catalog;
}

interface FailedRefresh {
  readonly error: unknown;
  readonly write: (name: string, bytes: Uint8Array) => Promise<unknown>;
}

async function writeFailureNote(
  { id, configHash }: RefreshRequest,
  stub: () => TenantStub,
  { error, write }: FailedRefresh,
): Promise<void> {
  const since = await createRpcClient(stub(), gatewayStore).recordFailure({ id, configHash });
  if (since === null) return;
  const detail = error instanceof RefreshError ? error.detail : undefined;
  const note: FailureNote = { of: configHash, since, ...reasonOf(error), detail };
  await write(failureSection(id), new TextEncoder().encode(JSON.stringify(note)));
}

/** The internal error to report, or undefined if the upstream caused the failure. */
function internalErrorOf(id: string, error: unknown): string | undefined {
  return error instanceof RefreshError || error instanceof AccessTokenError
    ? undefined
    : `refresh of upstream ${id} failed: ${String(error)}`;
}

/** `signal` covers the whole read, including a second attempt with a new access token. */
interface ReadContext extends RefreshRuntime {
  readonly signal: AbortSignal;
}

async function readRequested(
  request: RefreshRequest,
  context: ReadContext,
  mayRepeat = true,
): Promise<UpstreamCatalog> {
  const { env, services, waitUntil } = context;
  if ("why" in request.resolvedHeaders) throw new RefreshError(request.resolvedHeaders);
  const outbound = { tenant: request.tenant, env, hops: 0 };
  const authorizedHeaders = await withToken(request.resolvedHeaders, {
    fetch: createTokenFetch(outbound),
    now: Date.now,
    waitUntil,
  });
  const redaction = new Redaction(authorizedHeaders.secrets);
  const responseBudget = new ResponseBudget(request.tenant);
  try {
    const upstreamFetch = createCatalogFetch(outbound, getServiceFetch(request.upstream, services, env));
    const endpoint = endpointOf(request.upstream, authorizedHeaders.headers, upstreamFetch);
    const isFatal = (fault: Fault) => mayRepeat && isTokenStale(fault, authorizedHeaders);
    let skipped = 0;
    const countSkipped = () => {
      skipped += 1;
    };
    const options = { redaction, signal: context.signal, limits: limitsWithTotalPages(context.pages), isFatal };
    const catalog = await readThroughLink(
      request,
      { ...endpoint, reserveBytes: responseBudget.reserve, onSkipped: countSkipped },
      options,
    );
    return { ...catalog, ...(skipped > 0 && { skipped }) };
  } catch (error) {
    if (error instanceof MissingServiceError) throw new RefreshError(createReason("service-missing", error.message));
    if (!(error instanceof McpFault)) throw error;
    if (mayRepeat && isTokenStale(error.fault, authorizedHeaders)) return readRequested(request, context, false);
    const detail = redaction.value(operatorDetail(error.fault, authorizedHeaders.secrets));
    const { why, causes } = reasonOf(error);
    throw new RefreshError({ why: redaction.value(why), causes }, error.fault, detail);
  } finally {
    responseBudget.release();
  }
}

interface ReadLinkOptions {
  readonly redaction: Redaction;
  readonly signal: AbortSignal;
  readonly limits: CatalogLimits;
  readonly isFatal: (fault: Fault) => boolean;
}

async function readThroughLink(
  { upstream: { era = "auto" }, clientInfo, id, configHash }: RefreshRequest,
  endpoint: RemoteEndpoint,
  { redaction, signal, limits, isFatal }: ReadLinkOptions,
): Promise<UpstreamCatalog> {
  const startedAt = Date.now();
  const linkConfig = { endpoint, client: { clientInfo, capabilities: {} } };
  const link = await openCatalogLink(linkConfig, era === "auto" ? undefined : era, { signal });
  try {
    const redactedRequest: typeof link.request = async (linkRequest, requestOptions) => {
      const message = await link.request(linkRequest, requestOptions);
      return { ...message, result: redaction.json(message.result) };
    };
    const instructions = redaction.value(link.instructions);
    const timeoutMs = startedAt + READ_TIMEOUT_MS - Date.now();
    const describeRedacted = (fault: Fault) => redaction.value(describeReadFault(fault, READ_TIMEOUT_MS));
    const options = { id, configHash, limits, timeoutMs, signal, describeFault: describeRedacted, isFatal };
    return await readCatalog({ ...link, instructions, request: redactedRequest }, options);
  } finally {
    await link.close();
  }
}

const URI_KINDS: readonly ListedKind[] = ["resources", "resourceTemplates"];

/**
 * Removes URIs that the tenant stores or that another upstream listed first. Returns undefined if the upstream was
 * reconfigured or removed.
 */
async function removeTakenUris(
  { id, configHash, prefixes }: RefreshRequest,
  { stub, content }: { readonly stub: () => TenantStub; readonly content: () => TenantStub },
  catalog: UpstreamCatalog,
): Promise<UpstreamCatalog | undefined> {
  const keys = URI_KINDS.flatMap((kind) => catalog.texts[kind].map((text) => uriKey(kind, text)));
  const uris = keys.filter((key) => !isUiUri(key) && prefixOf(prefixes, key) === undefined);
  const stored = new Set(uris.length === 0 ? [] : await createRpcClient(content(), contentStore).stored(uris));
  const candidates = uris.filter((uri) => !stored.has(uri));
  const conflicts = await createRpcClient(stub(), gatewayStore).claimUris({ id, configHash, uris: candidates });
  if (conflicts === null) return undefined;
  const taken = new Map<string, Pick<Quarantined, "why" | "code">>([
    ...conflicts.map(([uri, owner]) => [uri, { why: `${owner} listed this URI first`, code: "uri-listed" }] as const),
    ...Array.from(stored, (uri) => [uri, { why: "a stored resource has this URI", code: "uri-stored" }] as const),
  ]);
  if (taken.size === 0) return catalog;
  const texts = { ...catalog.texts };
  const quarantined = [...catalog.quarantined];
  for (const kind of URI_KINDS) {
    texts[kind] = catalog.texts[kind].filter((text) => {
      const reason = taken.get(uriKey(kind, text));
      if (reason === undefined) return true;
      const name = String((JSON.parse(text) as JsonObject)[KEY_OF[kind]]).slice(0, 128);
      quarantined.push({ kind, name, ...reason });
      return false;
    });
  }
  return { ...catalog, texts, quarantined };
}

function uriKey(kind: ListedKind, text: string): string {
  return normalizeListedUri(kind, String((JSON.parse(text) as JsonObject)[KEY_OF[kind]]));
}

export function reasonOf(error: unknown, timeoutMs = READ_TIMEOUT_MS): Reason {
  if (error instanceof RefreshError) return { why: error.message, causes: error.causes };
  if (error instanceof AccessTokenError) return createReason("token-missing", error.message);
  if (!(error instanceof McpFault)) return { why: "an internal error occurred: see the Worker's log", causes: [] };
  const { fault, cause } = error;
  if (cause instanceof OutboundError) return createReason("unreachable", cause.message);
  return createReason(causeOf(fault), describeReadFault(fault, timeoutMs));
}

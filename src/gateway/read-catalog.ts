// Reads all lists of an upstream to the last page, within limits that no upstream can exceed. The rest is left out
// and reported. If one list fails, the others are still read.

import type { ListedKind } from "../protocol/definition.ts";
import { McpFault, type Fault } from "../mcp-client/fault.ts";
import { arrayElements, countContainers, getMembers } from "../mcp-client/json-text.ts";
import { violation } from "../mcp-client/mcp-reply.ts";
import { rpcErrorOf } from "../mcp-client/message.ts";
import { errorCode } from "../protocol/errors.ts";
import { CONTAINER_BYTES, isObject, type JsonObject } from "../protocol/jsonrpc.ts";
import type { CacheHint } from "../protocol/call-outcome.ts";
import { findDefinitionError, findTextError, findLoopError, KEY_OF } from "./upstream-definition.ts";
import { listedName, policyName } from "./listed-name.ts";
import type { UpstreamCatalog, UpstreamFacts, Quarantined } from "./upstream-catalog.ts";
import { causeOf } from "./read-failure.ts";
import type { UpstreamLink } from "./upstream-link.ts";

export interface CatalogLimits {
  readonly definitions: number;
  /** Includes `CONTAINER_BYTES` for each object and list. */
  readonly bytes: number;
  /** Per list. */
  readonly pages: number;
  /** Over all lists. Absent means no total limit. */
  readonly totalPages?: number;
}

/** A section may have 2 MiB. The facts about the definitions need part of that. */
const CATALOG_LIMITS: CatalogLimits = { definitions: 1000, bytes: 2 * 1024 * 1024 - 96 * 1024, pages: 200 };

export function limitsWithTotalPages(totalPages: number): CatalogLimits {
  return { ...CATALOG_LIMITS, totalPages };
}

/** Servers of earlier revisions may support completion without declaring it. */
const COMPLETIONS_SINCE = "2025-03-26";
/** How many quarantined definitions are named. Others are only counted. */
const MAX_QUARANTINED = 100;
const MAX_INSTRUCTIONS = 20_000;
/** Rejected definitions cost time too, so at most this multiple of the limits is inspected. */
const INSPECT_FACTOR = 8;
/** Every cursor of a list is remembered while the list is read. */
const MAX_CURSOR = 16_384;
/** A page may have more items than fit. The transport limits the size of the message. */
const MAX_ON_PAGE = 100_000;

const LISTS: readonly { readonly kind: ListedKind; readonly method: string; readonly capability: string }[] = [
  { kind: "tools", method: "tools/list", capability: "tools" },
  { kind: "prompts", method: "prompts/list", capability: "prompts" },
  { kind: "resources", method: "resources/list", capability: "resources" },
  { kind: "resourceTemplates", method: "resources/templates/list", capability: "resources" },
];

interface ListPage {
  readonly items: readonly string[];
  readonly next: string | undefined;
  readonly cache: CacheHint | undefined;
}

class CatalogCollector {
  readonly texts: Record<ListedKind, string[]> = { tools: [], prompts: [], resources: [], resourceTemplates: [] };
  readonly quarantined: Quarantined[] = [];
  readonly #id: string;
  readonly #limits: CatalogLimits;
  /** By listed name. */
  readonly #definitions = new Map<string, { readonly own: string; readonly text: string }>();
  unnamed = 0;
  readonly omissions: string[] = [];
  /** A limit is reached, for all lists. */
  isFull = false;
  cache: CacheHint | undefined;
  #count = 0;
  #bytes = 0;
  #inspectedLength = 0;
  #pages = 0;

  constructor(id: string, limits: CatalogLimits) {
    this.#id = id;
    this.#limits = limits;
  }

  /** Counts a page. Returns false if the page limit is reached. */
  takePage(): boolean {
    const { totalPages = Infinity } = this.#limits;
    if (this.#pages >= totalPages)
      return this.#reachLimit(`more than ${totalPages} pages, the limit in gateway({ pages })`);
    this.#pages += 1;
    return true;
  }

  /** Returns false if a limit is reached. */
  add(kind: ListedKind, text: string): boolean {
    const { definitions, bytes } = this.#limits;
    this.#inspectedLength += text.length;
    const tooMany = this.quarantined.length + this.unnamed >= INSPECT_FACTOR * definitions;
    if (tooMany || this.#inspectedLength > INSPECT_FACTOR * bytes)
      return this.#reachLimit("too many invalid definitions");
    const wire: unknown = JSON.parse(text);
    const definitionError = findTextError(text, wire) ?? findDefinitionError(kind, wire);
    if (definitionError !== undefined) return this.quarantine(kind, wire, { why: definitionError });
    const loopError = findLoopError(wire as JsonObject);
    if (loopError !== undefined) return this.quarantine(kind, wire, { why: loopError, code: "circle" });
    const own = String((wire as JsonObject)[KEY_OF[kind]]);
    const key = listKeyOf(kind, own, this.#id);
    const duplicate = this.#definitions.get(key);
    // A definition whose listed name is its policy name wins over one whose listed name was derived, in any order.
    const isChanged = key !== `${kind} ${policyName(this.#id, own)}`;
    if (duplicate && (duplicate.own === own || isChanged)) return this.quarantine(kind, wire, DUPLICATE);
    const encoded = new TextEncoder().encode(text);
    const size = encoded.byteLength + 1 + CONTAINER_BYTES * countContainers(text);
    if (this.#count + 1 > definitions) return this.#reachLimit(`more than ${definitions} definitions`);
    if (this.#bytes + size > bytes) return this.#reachLimit(`more than ${bytes} bytes`);
    if (duplicate) {
      this.texts[kind].splice(this.texts[kind].indexOf(duplicate.text), 1);
      this.quarantine(kind, { name: duplicate.own }, DUPLICATE);
    }
    this.#count += 1;
    this.#bytes += size;
    // Copies the text: a slice would keep the whole page in memory.
    const copy = new TextDecoder().decode(encoded);
    this.#definitions.set(key, { own, text: copy });
    this.texts[kind].push(copy);
    return true;
  }

  quarantine(kind: ListedKind, wire: unknown, { why, code }: Pick<Quarantined, "why" | "code">): true {
    const key = isObject(wire) ? (wire[KEY_OF[kind]] ?? wire.name) : undefined;
    const name = (typeof key === "string" ? key : "without a name").slice(0, 128);
    const one = { kind, name, why: why.slice(0, 200), ...(code && { code }) };
    if (this.quarantined.length < MAX_QUARANTINED) this.quarantined.push(one);
    else this.unnamed += 1;
    return true;
  }

  /** The result lives as long as the shortest-lived page, and is public only if every page is. */
  mergeCacheHint(cache: CacheHint): void {
    const { ttlMs, cacheScope } = this.cache ?? cache;
    const isPublic = cacheScope === "public" && cache.cacheScope === "public";
    this.cache = { ttlMs: Math.min(ttlMs, cache.ttlMs), cacheScope: isPublic ? "public" : "private" };
  }

  #reachLimit(what: string): false {
    this.isFull = true;
    this.omissions.push(`the server lists ${what}; only the first ${this.#count} are listed here`);
    return false;
  }
}

const DUPLICATE = { why: "is listed twice" };

/** A client could not tell apart two definitions with the same key. */
function listKeyOf(kind: ListedKind, own: string, id: string): string {
  return `${kind} ${KEY_OF[kind] === "name" ? listedName(id, own) : own}`;
}

export interface ReadCatalogOptions {
  readonly id: string;
  /** Configuration with which the upstream is read. */
  readonly configHash: string;
  readonly limits?: CatalogLimits;
  /** Milliseconds for all lists. One list that does not answer takes at most half of the remaining time. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
  /** Describes a failed list in words that its callers may see. */
  readonly describeFault: (fault: Fault) => string;
  /** If true, the whole read stops, to be repeated. */
  readonly isFatal?: (fault: Fault) => boolean;
}

/** Throws an `McpFault` if no list can be read. */
export async function readCatalog(link: UpstreamLink, options: ReadCatalogOptions): Promise<UpstreamCatalog> {
  const collector = new CatalogCollector(options.id, options.limits ?? CATALOG_LIMITS);
  const faults = await readLists(link, options, collector);
  const reasons = Array.from(
    faults,
    ([kind, { fault }]) => `${KIND_LABELS[kind]} could not be read: ${options.describeFault(fault)}`,
  );
  const { texts, quarantined, unnamed, cache } = collector;
  const capped = [...collector.omissions, ...reasons].join("; ");
  const cappedBy = [
    ...(collector.omissions.length === 0 ? [] : [{ code: "too-much" } as const]),
    ...Array.from(faults.values(), ({ fault }) => ({ code: causeOf(fault) })),
  ];
  const { transport, revision, instructions } = link;
  const facts: UpstreamFacts = {
    of: options.configHash,
    way: transport,
    revision,
    ...(instructions === undefined ? {} : { instructions: instructions.slice(0, MAX_INSTRUCTIONS) }),
    ...(isObject(link.capabilities.logging) ? { logging: true } : {}),
    ...(isObject(link.capabilities.completions) || revision < COMPLETIONS_SINCE ? {} : { completes: false }),
    ...(cache === undefined ? {} : { cache }),
    quarantined,
    unnamed,
    ...(capped !== "" && { capped, cappedBy }),
    ...(faults.size > 0 && { unread: [...faults.keys()] }),
  };
  return { ...facts, texts };
}

async function readLists(
  link: UpstreamLink,
  { limits = CATALOG_LIMITS, timeoutMs, signal, isFatal = () => false }: ReadCatalogOptions,
  collector: CatalogCollector,
): Promise<ReadonlyMap<ListedKind, McpFault>> {
  const deadline = Date.now() + timeoutMs;
  const faults = new Map<ListedKind, McpFault>();
  // Some servers have tools without declaring them.
  const lists = LISTS.filter(({ kind, capability }) => kind === "tools" || isDeclared(link.capabilities[capability]));
  for (const list of lists) {
    if (collector.isFull) break;
    const timeout = new ListTimeout((deadline - Date.now()) / 2, signal);
    try {
      await readList(
        { ...link, request: (request) => link.request(request, { signal: timeout.signal }) },
        list,
        collector,
        limits,
      );
    } catch (error) {
      if (!(error instanceof McpFault) || signal?.aborted === true || isFatal(error.fault)) throw error;
      collector.texts[list.kind] = [];
      if (lists.length === 1 || isDeclared(link.capabilities[list.capability])) faults.set(list.kind, error);
    } finally {
      timeout.end();
    }
  }
  const [first] = faults.values();
  if (first && faults.size === lists.length) throw first;
  return faults;
}

/** Some servers declare a capability with `true` or an array. */
function isDeclared(capability: unknown): boolean {
  return capability === true || (typeof capability === "object" && capability !== null);
}

const KIND_LABELS: Readonly<Record<ListedKind, string>> = {
  tools: "tools",
  prompts: "prompts",
  resources: "resources",
  resourceTemplates: "resource templates",
};

/** Aborts the reading of one list on timeout, or when the whole read is aborted. */
class ListTimeout {
  readonly #late = new AbortController();
  readonly #timer: ReturnType<typeof setTimeout>;
  readonly signal: AbortSignal;

  constructor(afterMs: number, parent: AbortSignal | undefined) {
    // Rounded to whole seconds: the text is stored, and must not differ between reads.
    const rounded = Math.ceil(afterMs / 1000) * 1000;
    const late = new McpFault({ kind: "timeout", stage: "total", afterMs: rounded, sent: "perhaps" });
    this.#timer = setTimeout(() => this.#late.abort(late), afterMs);
    this.signal = parent ? AbortSignal.any([this.#late.signal, parent]) : this.#late.signal;
  }

  end(): void {
    clearTimeout(this.#timer);
  }
}

async function readList(
  link: UpstreamLink,
  { kind, method }: { readonly kind: ListedKind; readonly method: string },
  collector: CatalogCollector,
  { pages }: CatalogLimits,
): Promise<void> {
  const seenCursors = new Set<string>();
  let cursor: string | undefined;
  for (let page = 0; page < pages; page += 1) {
    if (!collector.takePage()) return;
    const current = await readPage(link, kind, { method, cursor });
    if (!current) return;
    if (current.cache) collector.mergeCacheHint(current.cache);
    if (!current.items.every((text) => collector.add(kind, text)) || current.next === undefined) return;
    if (seenCursors.has(current.next)) {
      collector.omissions.push(`the list of ${kind} repeats a cursor`);
      return;
    }
    cursor = current.next;
    if (cursor.length > MAX_CURSOR) {
      collector.omissions.push(`the list of ${kind} has a cursor of more than ${MAX_CURSOR} characters`);
      return;
    }
    seenCursors.add(cursor);
  }
  collector.omissions.push(`the list of ${kind} has more than ${pages} pages`);
}

/** Returns undefined if the upstream does not have this list, whatever it declared. */
async function readPage(
  link: UpstreamLink,
  kind: ListedKind,
  { method, cursor }: { readonly method: string; readonly cursor: string | undefined },
): Promise<ListPage | undefined> {
  const response = link.request({ method, params: cursor === undefined ? {} : { cursor } });
  const message = await response.catch((error: unknown) => {
    if (isMethodNotFound(error)) return undefined;
    throw error;
  });
  if (!message) return undefined;
  const members = getMembers(new Set([kind, "nextCursor", "ttlMs", "cacheScope"]), message.result);
  const items = arrayElements(members?.get(kind) ?? "", MAX_ON_PAGE);
  if (!members || !items) throw violation("notJsonRpc", `the result of ${method} has no list of ${kind}`);
  const next: unknown = JSON.parse(members.get("nextCursor") ?? "null");
  return { items, next: typeof next === "string" && next !== "" ? next : undefined, cache: parseCacheHint(members) };
}

function isMethodNotFound(error: unknown): boolean {
  if (!(error instanceof McpFault) || error.fault.kind !== "refused") return false;
  return rpcErrorOf(error.fault.error)?.code === errorCode("methodNotFound", "2025");
}

function parseCacheHint(members: ReadonlyMap<string, string>): CacheHint | undefined {
  const ttlMs: unknown = JSON.parse(members.get("ttlMs") ?? "null");
  const cacheScope: unknown = JSON.parse(members.get("cacheScope") ?? "null");
  if (typeof ttlMs !== "number" || !(ttlMs >= 0)) return undefined;
  // "1e400" parses as Infinity, which JSON cannot write.
  return {
    ttlMs: Math.min(Math.floor(ttlMs), Number.MAX_SAFE_INTEGER),
    cacheScope: cacheScope === "public" ? "public" : "private",
  };
}

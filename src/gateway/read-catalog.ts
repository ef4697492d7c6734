// Reads everything that an upstream lists, to the last page, within limits that no upstream can exceed. What is too much is
// left out and said; a list that cannot be read is missing alone.

import type { ListedKind } from "../protocol/definition.ts";
import { McpFault, type Fault } from "../mcp-client/fault.ts";
import { arrayElements, countContainers, getMembers } from "../mcp-client/json-text.ts";
import { violation } from "../mcp-client/mcp-reply.ts";
import { rpcErrorOf } from "../mcp-client/message.ts";
import { errorCode } from "../protocol/errors.ts";
import { CONTAINER_BYTES, isObject, type JsonObject } from "../protocol/jsonrpc.ts";
import type { CacheHint } from "../protocol/call-outcome.ts";
import { findDefinitionError, findTextError, findLoopError, KEY_OF } from "./check-definition.ts";
import { listedName, policyName } from "./listed-name.ts";
import type { UpstreamCatalog, UpstreamFacts, Quarantined } from "./upstream-catalog.ts";
import { causeOf } from "./read-failure.ts";
import type { UpstreamLink } from "./upstream-link.ts";

export interface CatalogLimits {
  readonly definitions: number;
  /** With `CONTAINER_BYTES` for each object and list. */
  readonly bytes: number;
  /** Of one list. */
  readonly pages: number;
  /** Of all lists together; absent: as many as they may have. */
  readonly totalPages?: number;
}

/** The section has 2 MiB, of which what is said about the definitions takes a little. */
export const CATALOG_LIMITS: CatalogLimits = { definitions: 1000, bytes: 2 * 1024 * 1024 - 96 * 1024, pages: 200 };

/** With the most pages that the Worker's author has one reading take. */
export function limitsWithTotalPages(totalPages: number): CatalogLimits {
  return { ...CATALOG_LIMITS, totalPages };
}

/** Servers of an earlier revision may complete without saying so. */
const COMPLETIONS_SINCE = "2025-03-26";
/** How many quarantined definitions are named; the others are counted. */
const MAX_QUARANTINED = 100;
const MAX_INSTRUCTIONS = 20_000;
/** What is left out takes time, too: so much is looked at, and no more. */
const INSPECT_FACTOR = 8;
/** All of them are remembered while a list is read. */
const MAX_CURSOR = 16_384;
/** A page may have more than fit; what a message may have in all is limited where it is received. */
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

/** What is read, while it is read. */
class CatalogCollector {
  readonly texts: Record<ListedKind, string[]> = { tools: [], prompts: [], resources: [], resourceTemplates: [] };
  readonly quarantined: Quarantined[] = [];
  readonly #id: string;
  readonly #limits: CatalogLimits;
  /** By the name under which each would be listed. */
  readonly #definitions = new Map<string, { readonly own: string; readonly text: string }>();
  unnamed = 0;
  /** What was not read, in words. */
  readonly omissions: string[] = [];
  /** There is room for no more, in no list. */
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

  /** A page is to be read. false: there were as many as there may be. */
  takePage(): boolean {
    const { totalPages = Infinity } = this.#limits;
    if (this.#pages >= totalPages) return this.#reachLimit(`more than ${totalPages} pages, the most that are read`);
    this.#pages += 1;
    return true;
  }

  /** false: there is no room for more. */
  add(kind: ListedKind, text: string): boolean {
    const { definitions, bytes } = this.#limits;
    this.#inspectedLength += text.length;
    const tooMany = this.quarantined.length + this.unnamed >= INSPECT_FACTOR * definitions;
    if (tooMany || this.#inspectedLength > INSPECT_FACTOR * bytes) return this.#reachLimit("more than it is read to");
    const wire: unknown = JSON.parse(text);
    const definitionError = findTextError(text, wire) ?? findDefinitionError(kind, wire);
    if (definitionError !== undefined) return this.quarantine(kind, wire, { why: definitionError });
    const loopError = findLoopError(wire as JsonObject);
    if (loopError !== undefined) return this.quarantine(kind, wire, { why: loopError, code: "circle" });
    const own = String((wire as JsonObject)[KEY_OF[kind]]);
    const key = listKeyOf(kind, own, this.#id);
    const duplicate = this.#definitions.get(key);
    // What has the name itself stays, whichever comes first.
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
    // A piece of a page keeps all of that page in memory.
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

  /** A list may be kept for as long as each of its pages may. */
  mergeCacheHint(cache: CacheHint): void {
    const { ttlMs, cacheScope } = this.cache ?? cache;
    const isPublic = cacheScope === "public" && cache.cacheScope === "public";
    this.cache = { ttlMs: Math.min(ttlMs, cache.ttlMs), cacheScope: isPublic ? "public" : "private" };
  }

  #reachLimit(what: string): false {
    this.isFull = true;
    this.omissions.push(`it lists ${what}; the first ${this.#count} are here`);
    return false;
  }
}

const DUPLICATE = { why: "is listed twice" };

/** Two definitions with the same one could not be told apart by a client. */
function listKeyOf(kind: ListedKind, own: string, id: string): string {
  return `${kind} ${KEY_OF[kind] === "name" ? listedName(id, own) : own}`;
}

export interface ReadCatalogOptions {
  readonly id: string;
  /** The configuration with which it is read. */
  readonly config: string;
  readonly limits?: CatalogLimits;
  /** Milliseconds for all lists. One that does not answer leaves half of what is left. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
  /** Why a list could not be read, in words for who will see them. */
  readonly describeFault: (fault: Fault) => string;
  /** Whether all is to be read once more after this. */
  readonly isFatal?: (fault: Fault) => boolean;
}

/** Throws an `McpFault` where none of the lists can be read. */
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
    of: options.config,
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

/** Why lists could not be read, by kind. */
async function readLists(
  link: UpstreamLink,
  { limits = CATALOG_LIMITS, timeoutMs, signal, isFatal = () => false }: ReadCatalogOptions,
  collector: CatalogCollector,
): Promise<ReadonlyMap<ListedKind, McpFault>> {
  const deadline = Date.now() + timeoutMs;
  const faults = new Map<ListedKind, McpFault>();
  // Some servers have tools and declare nothing.
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

/** Some servers declare with `true` or a list. */
function isDeclared(capability: unknown): boolean {
  return capability === true || (typeof capability === "object" && capability !== null);
}

const KIND_LABELS: Readonly<Record<ListedKind, string>> = {
  tools: "tools",
  prompts: "prompts",
  resources: "resources",
  resourceTemplates: "resource templates",
};

/** Ends the reading of one list in time, or when all of it ends. */
class ListTimeout {
  readonly #late = new AbortController();
  readonly #timer: ReturnType<typeof setTimeout>;
  readonly signal: AbortSignal;

  constructor(afterMs: number, parent: AbortSignal | undefined) {
    // In whole seconds: what is said of a list is kept, and is to be the same each time.
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
      collector.omissions.push(`its list of ${kind} comes back to a page that was there before`);
      return;
    }
    cursor = current.next;
    if (cursor.length > MAX_CURSOR) {
      collector.omissions.push(`its list of ${kind} names a page with more than ${MAX_CURSOR} characters`);
      return;
    }
    seenCursors.add(cursor);
  }
  collector.omissions.push(`its list of ${kind} has more than ${pages} pages`);
}

/** undefined: the upstream has no such list, whatever it declared. */
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
  // "1e400" reads as Infinity, which JSON cannot write.
  return {
    ttlMs: Math.min(Math.floor(ttlMs), Number.MAX_SAFE_INTEGER),
    cacheScope: cacheScope === "public" ? "public" : "private",
  };
}

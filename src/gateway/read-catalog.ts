// Reads everything that an upstream lists, to the last page, within limits that no upstream can exceed. What is too much is
// left out and said; a list that cannot be read is missing alone.

import type { ListedKind } from "../protocol/definition.ts";
import { McpFault, type Fault } from "../mcp-client/fault.ts";
import { arrayElements, containersIn, membersNamed } from "../mcp-client/json-text.ts";
import { violation } from "../mcp-client/mcp-reply.ts";
import { rpcErrorOf } from "../mcp-client/message.ts";
import { errorCode } from "../protocol/errors.ts";
import { CONTAINER_BYTES, isObject, type JsonObject } from "../protocol/jsonrpc.ts";
import type { CacheHint } from "../protocol/outcome.ts";
import { faultOfDefinition, faultOfText, faultOfWay, KEY_OF } from "./check-definition.ts";
import { listedName, policyName } from "./listed-name.ts";
import type { UpstreamCatalog, UpstreamFacts, Quarantined } from "./upstream-catalog.ts";
import { causeOf } from "./unread-reason.ts";
import type { UpstreamLink } from "./upstream-link.ts";

export interface CatalogCaps {
  readonly definitions: number;
  /** With `CONTAINER_BYTES` for each object and list. */
  readonly bytes: number;
  /** Of one list. */
  readonly pages: number;
  /** Of all lists together; absent: as many as they may have. */
  readonly pagesInAll?: number;
}

/** The section has 2 MiB, of which what is said about the definitions takes a little. */
export const CATALOG_CAPS: CatalogCaps = { definitions: 1000, bytes: 2 * 1024 * 1024 - 96 * 1024, pages: 200 };

/** With the most pages that the Worker's author has one reading take. */
export function capsWith(pagesInAll: number): CatalogCaps {
  return { ...CATALOG_CAPS, pagesInAll };
}

/** Servers of an earlier revision may complete without saying so. */
const COMPLETIONS_SINCE = "2025-03-26";
/** How many quarantined definitions are named; the others are counted. */
const MAX_NAMED = 100;
const MAX_INSTRUCTIONS = 20_000;
/** What is left out takes time, too: so much is looked at, and no more. */
const MOST_LOOKED_AT = 8;
/** All of them are remembered while a list is read. */
const LONGEST_CURSOR = 16_384;
/** A page may have more than fit; what a message may have in all is limited where it is received. */
const MAX_ON_PAGE = 100_000;

const LISTS: readonly { readonly kind: ListedKind; readonly method: string; readonly capability: string }[] = [
  { kind: "tools", method: "tools/list", capability: "tools" },
  { kind: "prompts", method: "prompts/list", capability: "prompts" },
  { kind: "resources", method: "resources/list", capability: "resources" },
  { kind: "resourceTemplates", method: "resources/templates/list", capability: "resources" },
];

interface Page {
  readonly items: readonly string[];
  readonly next: string | undefined;
  readonly cache: CacheHint | undefined;
}

/** What is read, while it is read. */
class Reading {
  readonly texts: Record<ListedKind, string[]> = { tools: [], prompts: [], resources: [], resourceTemplates: [] };
  readonly quarantined: Quarantined[] = [];
  readonly #id: string;
  readonly #caps: CatalogCaps;
  /** By the name under which each would be listed. */
  readonly #read = new Map<string, { readonly own: string; readonly text: string }>();
  unnamed = 0;
  /** What was not read, in words. */
  readonly left: string[] = [];
  /** There is room for no more, in no list. */
  isFull = false;
  cache: CacheHint | undefined;
  #count = 0;
  #bytes = 0;
  #lookedAt = 0;
  #pages = 0;

  constructor(id: string, caps: CatalogCaps) {
    this.#id = id;
    this.#caps = caps;
  }

  /** A page is to be read. false: there were as many as there may be. */
  turn(): boolean {
    const { pagesInAll = Infinity } = this.#caps;
    if (this.#pages >= pagesInAll) return this.#cap(`more than ${pagesInAll} pages, the most that are read`);
    this.#pages += 1;
    return true;
  }

  /** false: there is no room for more. */
  add(kind: ListedKind, text: string): boolean {
    const { definitions, bytes } = this.#caps;
    this.#lookedAt += text.length;
    const tooMany = this.quarantined.length + this.unnamed >= MOST_LOOKED_AT * definitions;
    if (tooMany || this.#lookedAt > MOST_LOOKED_AT * bytes) return this.#cap("more than it is read to");
    const wire: unknown = JSON.parse(text);
    const fault = faultOfText(text, wire) ?? faultOfDefinition(kind, wire);
    if (fault !== undefined) return this.quarantine(kind, wire, { why: fault });
    const way = faultOfWay(wire as JsonObject);
    if (way !== undefined) return this.quarantine(kind, wire, { why: way, code: "circle" });
    const own = String((wire as JsonObject)[KEY_OF[kind]]);
    const key = keyIn(kind, own, this.#id);
    const twin = this.#read.get(key);
    // What has the name itself stays, whichever comes first.
    const isChanged = key !== `${kind} ${policyName(this.#id, own)}`;
    if (twin && (twin.own === own || isChanged)) return this.quarantine(kind, wire, TWICE);
    const encoded = new TextEncoder().encode(text);
    const size = encoded.byteLength + 1 + CONTAINER_BYTES * containersIn(text);
    if (this.#count + 1 > definitions) return this.#cap(`more than ${definitions} definitions`);
    if (this.#bytes + size > bytes) return this.#cap(`more than ${bytes} bytes`);
    if (twin) {
      this.texts[kind].splice(this.texts[kind].indexOf(twin.text), 1);
      this.quarantine(kind, { name: twin.own }, TWICE);
    }
    this.#count += 1;
    this.#bytes += size;
    // A piece of a page keeps all of that page in memory.
    const copy = new TextDecoder().decode(encoded);
    this.#read.set(key, { own, text: copy });
    this.texts[kind].push(copy);
    return true;
  }

  quarantine(kind: ListedKind, wire: unknown, { why, code }: Pick<Quarantined, "why" | "code">): true {
    const key = isObject(wire) ? (wire[KEY_OF[kind]] ?? wire.name) : undefined;
    const name = (typeof key === "string" ? key : "without a name").slice(0, 128);
    const one = { kind, name, why: why.slice(0, 200), ...(code && { code }) };
    if (this.quarantined.length < MAX_NAMED) this.quarantined.push(one);
    else this.unnamed += 1;
    return true;
  }

  /** A list may be kept for as long as each of its pages may. */
  hint(cache: CacheHint): void {
    const { ttlMs, cacheScope } = this.cache ?? cache;
    const isPublic = cacheScope === "public" && cache.cacheScope === "public";
    this.cache = { ttlMs: Math.min(ttlMs, cache.ttlMs), cacheScope: isPublic ? "public" : "private" };
  }

  #cap(what: string): false {
    this.isFull = true;
    this.left.push(`it lists ${what}; the first ${this.#count} are here`);
    return false;
  }
}

const TWICE = { why: "is listed twice" };

/** Two definitions with the same one could not be told apart by a client. */
function keyIn(kind: ListedKind, own: string, id: string): string {
  return `${kind} ${KEY_OF[kind] === "name" ? listedName(id, own) : own}`;
}

export interface CatalogHow {
  readonly id: string;
  /** The configuration with which it is read. */
  readonly of: string;
  readonly caps?: CatalogCaps;
  /** Milliseconds for all lists. One that does not answer leaves half of what is left. */
  readonly withinMs: number;
  readonly signal?: AbortSignal;
  /** Why a list could not be read, in words for who will see them. */
  readonly reasonOf: (fault: Fault) => string;
  /** Whether all is to be read once more after this. */
  readonly isFatal?: (fault: Fault) => boolean;
}

/** Throws an `McpFault` where none of the lists can be read. */
export async function readCatalog(link: UpstreamLink, how: CatalogHow): Promise<UpstreamCatalog> {
  const reading = new Reading(how.id, how.caps ?? CATALOG_CAPS);
  const failed = await readLists(link, how, reading);
  const reasons = Array.from(failed, ([kind, { fault }]) => `${WORDS[kind]} could not be read: ${how.reasonOf(fault)}`);
  const { texts, quarantined, unnamed, cache } = reading;
  const capped = [...reading.left, ...reasons].join("; ");
  const cappedBy = [
    ...(reading.left.length === 0 ? [] : [{ code: "too-much" } as const]),
    ...Array.from(failed.values(), ({ fault }) => ({ code: causeOf(fault) })),
  ];
  const { way, revision, instructions } = link;
  const facts: UpstreamFacts = {
    of: how.of,
    way,
    revision,
    ...(instructions === undefined ? {} : { instructions: instructions.slice(0, MAX_INSTRUCTIONS) }),
    ...(isObject(link.capabilities.logging) ? { logging: true } : {}),
    ...(isObject(link.capabilities.completions) || revision < COMPLETIONS_SINCE ? {} : { completes: false }),
    ...(cache === undefined ? {} : { cache }),
    quarantined,
    unnamed,
    ...(capped !== "" && { capped, cappedBy }),
    ...(failed.size > 0 && { unread: [...failed.keys()] }),
  };
  return { ...facts, texts };
}

/** Why lists could not be read, by kind. */
async function readLists(
  link: UpstreamLink,
  { caps = CATALOG_CAPS, withinMs, signal, isFatal = () => false }: CatalogHow,
  reading: Reading,
): Promise<ReadonlyMap<ListedKind, McpFault>> {
  const until = Date.now() + withinMs;
  const failed = new Map<ListedKind, McpFault>();
  // Some servers have tools and declare nothing.
  const wanted = LISTS.filter(({ kind, capability }) => kind === "tools" || isDeclared(link.capabilities[capability]));
  for (const list of wanted) {
    if (reading.isFull) break;
    const limit = new ListLimit((until - Date.now()) / 2, signal);
    try {
      await readList({ ...link, ask: (asked) => link.ask(asked, { signal: limit.signal }) }, list, reading, caps);
    } catch (error) {
      if (!(error instanceof McpFault) || signal?.aborted === true || isFatal(error.fault)) throw error;
      reading.texts[list.kind] = [];
      if (wanted.length === 1 || isDeclared(link.capabilities[list.capability])) failed.set(list.kind, error);
    } finally {
      limit.end();
    }
  }
  const [first] = failed.values();
  if (first && failed.size === wanted.length) throw first;
  return failed;
}

/** Some servers declare with `true` or a list. */
function isDeclared(capability: unknown): boolean {
  return capability === true || (typeof capability === "object" && capability !== null);
}

const WORDS: Readonly<Record<ListedKind, string>> = {
  tools: "tools",
  prompts: "prompts",
  resources: "resources",
  resourceTemplates: "resource templates",
};

/** Ends the reading of one list in time, or when all of it ends. */
class ListLimit {
  readonly #late = new AbortController();
  readonly #timer: ReturnType<typeof setTimeout>;
  readonly signal: AbortSignal;

  constructor(afterMs: number, all: AbortSignal | undefined) {
    // In whole seconds: what is said of a list is kept, and is to be the same each time.
    const rounded = Math.ceil(afterMs / 1000) * 1000;
    const late = new McpFault({ kind: "timeout", stage: "total", afterMs: rounded, sent: "perhaps" });
    this.#timer = setTimeout(() => this.#late.abort(late), afterMs);
    this.signal = all ? AbortSignal.any([this.#late.signal, all]) : this.#late.signal;
  }

  end(): void {
    clearTimeout(this.#timer);
  }
}

async function readList(
  link: UpstreamLink,
  { kind, method }: { readonly kind: ListedKind; readonly method: string },
  reading: Reading,
  { pages }: CatalogCaps,
): Promise<void> {
  const seen = new Set<string>();
  let cursor: string | undefined;
  for (let page = 0; page < pages; page += 1) {
    if (!reading.turn()) return;
    const read = await readPage(link, kind, { method, cursor });
    if (!read) return;
    if (read.cache) reading.hint(read.cache);
    if (!read.items.every((text) => reading.add(kind, text)) || read.next === undefined) return;
    if (seen.has(read.next)) {
      reading.left.push(`its list of ${kind} comes back to a page that was there before`);
      return;
    }
    cursor = read.next;
    if (cursor.length > LONGEST_CURSOR) {
      reading.left.push(`its list of ${kind} names a page with more than ${LONGEST_CURSOR} characters`);
      return;
    }
    seen.add(cursor);
  }
  reading.left.push(`its list of ${kind} has more than ${pages} pages`);
}

/** undefined: the upstream has no such list, whatever it declared. */
async function readPage(
  link: UpstreamLink,
  kind: ListedKind,
  { method, cursor }: { readonly method: string; readonly cursor: string | undefined },
): Promise<Page | undefined> {
  const asking = link.ask({ method, params: cursor === undefined ? {} : { cursor } });
  const message = await asking.catch((error: unknown) => {
    if (isNoMethod(error)) return undefined;
    throw error;
  });
  if (!message) return undefined;
  const members = membersNamed(new Set([kind, "nextCursor", "ttlMs", "cacheScope"]), message.result);
  const items = arrayElements(members?.get(kind) ?? "", MAX_ON_PAGE);
  if (!members || !items) throw violation("notJsonRpc", `the result of ${method} has no list of ${kind}`);
  const next: unknown = JSON.parse(members.get("nextCursor") ?? "null");
  return { items, next: typeof next === "string" && next !== "" ? next : undefined, cache: cacheIn(members) };
}

function isNoMethod(error: unknown): boolean {
  if (!(error instanceof McpFault) || error.fault.kind !== "refused") return false;
  return rpcErrorOf(error.fault.error)?.code === errorCode("methodNotFound", "2025");
}

function cacheIn(members: ReadonlyMap<string, string>): CacheHint | undefined {
  const ttlMs: unknown = JSON.parse(members.get("ttlMs") ?? "null");
  const cacheScope: unknown = JSON.parse(members.get("cacheScope") ?? "null");
  if (typeof ttlMs !== "number" || !(ttlMs >= 0)) return undefined;
  // "1e400" reads as Infinity, which JSON cannot write.
  return {
    ttlMs: Math.min(Math.floor(ttlMs), Number.MAX_SAFE_INTEGER),
    cacheScope: cacheScope === "public" ? "public" : "private",
  };
}

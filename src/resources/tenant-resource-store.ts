// A tenant's stored resources as a Worker uses them: the index is in the content object, bodies are in KV. A write
// stores the body first, then the row of the index. The content under a body's key never changes, so a cached body is
// never stale. Invalid URIs and oversized bodies are rejected before anything is written.

import { omitUndefined } from "../protocol/members.ts";
import { parseUri } from "../protocol/uri.ts";
import { UserError } from "../protocol/user-error.ts";
import type { Limits, Patterns } from "../tenants/document/tenant-document.ts";
import { decodeCursor, encodeCursor } from "../protocol/cursor.ts";
import {
  InvalidCursorError,
  type NewResource,
  type ResourceMeta,
  type ResourceStore,
} from "../handlers/resource-store.ts";
import { withReservedMemory, readBody, storeBody, type ContentLocation } from "./bodies.ts";
import { tooManyPatternsError } from "./pattern-budget.ts";
import type { ResourceRow } from "./resource-row.ts";
import type { PutResource, ContentRpc } from "./content-store.ts";
import type { ListQuery } from "./resource-queries.ts";

/** The largest value that KV stores. */
export const MAX_RESOURCE_BYTES = 25 * 1024 * 1024;
const ISO_UTC = /^\d{4}-\d{2}-\d{2}T[\d:.]+Z$/;
/** Characters of a name or a title. They stay small, because a page of the index travels in one message. */
const MAX_NAME = 256;
const MAX_DESCRIPTION = 4096;
const MAX_TAGS = 64;
const PAGE_SIZE = 100;
const MAX_PAGE = 1000;

export interface StoreOptions {
  /** The tenant's limits, for writes by its tools. */
  readonly limits?: Limits;
  /** Patterns for searches, lists and tag counts; absent: everything is visible. */
  readonly only?: readonly Patterns[];
}

export function createResourceStore(
  location: ContentLocation,
  { limits = {}, only }: StoreOptions = {},
): ResourceStore {
  const { content } = location;
  return {
    list: (options = {}) => listResources(content, options, only),
    get: async (uri) => {
      const row = await content.get(normalizeUri(uri));
      return row && toResourceMeta(row);
    },
    read: async (uri) => {
      const row = await content.get(normalizeUri(uri));
      return row && { ...toResourceMeta(row), ...(await withReservedMemory(row, () => readBody(location, row))) };
    },
    write: (resource, options = {}) => writeResource(location, resource, { ifAbsent: false, ...options, limits }),
    delete: (uri) => content.remove(normalizeUri(uri)),
    search: (query, options = {}) => searchResources(content, query, { ...options, only }),
    tags: async (options = {}) => [...(await content.tags(options.prefix ?? "", only))],
    uris: async (prefix, limit) => {
      if (only === undefined) return content.uris(prefix, limit);
      return (await listVisible(content, { prefix, tag: null, after: null, limit }, only)).map(({ uri }) => uri);
    },
  };
}

function normalizeUri(uri: string): string {
  const parsed = parseUri(uri);
  if ("broken" in parsed) throw new UserError(`${uri.slice(0, 100)}: ${parsed.broken}`);
  return parsed.uri;
}

function toResourceMeta(row: ResourceRow): ResourceMeta {
  const { uri, name, title, description, mimeType, size, lastModified, audience, priority, tags } = row;
  return omitUndefined({
    uri,
    name,
    title: title ?? undefined,
    description: description ?? undefined,
    mimeType,
    size,
    lastModified,
    audience: (audience as ("user" | "assistant")[] | null) ?? undefined,
    priority: priority ?? undefined,
    tags,
  });
}

async function listResources(
  content: ContentRpc,
  options: { prefix?: string; tag?: string; cursor?: string; limit?: number },
  only: readonly Patterns[] | undefined,
): Promise<{ items: ResourceMeta[]; cursor?: string }> {
  const after = options.cursor === undefined ? null : decodeCursor("stored", options.cursor);
  if (after === undefined) throw new InvalidCursorError("the cursor is not one of this list");
  const limit = Math.min(Math.max(1, Math.trunc(options.limit ?? PAGE_SIZE)), MAX_PAGE);
  const query = { prefix: options.prefix ?? "", tag: options.tag ?? null, after, limit: limit + 1 };
  const rows = await (only === undefined ? content.list(query) : listVisible(content, query, only));
  const items = rows.slice(0, limit).map(toResourceMeta);
  const last = items.at(-1);
  return rows.length > limit && last ? { items, cursor: encodeCursor("stored", last.uri) } : { items };
}

/**
 * Reads on until the page is full or no row is left. Hidden resources do not shorten a page, and no cursor names one.
 */
async function listVisible(
  content: ContentRpc,
  query: ListQuery,
  only: readonly Patterns[],
): Promise<readonly ResourceRow[]> {
  const rows: ResourceRow[] = [];
  for (let after = query.after; ;) {
    const page = await content.listVisible({ ...query, after, limit: query.limit - rows.length }, only);
    if (page.isTooMuch) throw tooManyPatternsError();
    rows.push(...page.rows);
    if (page.next === null) return rows;
    after = page.next;
  }
}

async function writeResource(
  location: ContentLocation,
  resource: NewResource,
  { ifAbsent, limits }: { readonly ifAbsent: boolean; readonly limits: Limits },
): Promise<ResourceMeta> {
  const { uri, bytes } = checkResource(resource, limits.resourceBytes);
  const row = { ...toNewRow(resource, bytes.byteLength), uri, hash: await digestOf(bytes) };
  const maxima = { maxResources: limits.resources ?? null, maxBytes: limits.storedBytes ?? null };
  const result = await storeBody(location, { row, bytes, searchText: resource.text ?? "" }, { ifAbsent, ...maxima });
  if (result.state === "stored")
    return toResourceMeta({ ...row, revision: result.revision, lastModified: result.lastModified });
  if (result.state === "present") return toResourceMeta(result.row);
  if (result.state === "full") throw new UserError(storageFullText(result, limits));
  throw new Error("an unconditional write met a conflict (this is a bug)");
}

/** Explains why there is no room for a resource. */
export function storageFullText(
  { of }: { readonly of?: "storedBytes" | "object" },
  { resources, storedBytes }: Limits,
): string {
  if (of === "object") return "the tenant's storage is full";
  return of === "storedBytes"
    ? `the tenant's limit of ${storedBytes} stored bytes leaves no room for the resource`
    : `the tenant has reached its limit of ${resources} resources`;
}

function toNewRow(resource: NewResource, size: number): Omit<PutResource["row"], "uri" | "hash"> {
  const binary = resource.blob !== undefined;
  const { name, title = null, description = null, audience = null, priority = null, lastModified } = resource;
  return {
    name,
    title,
    description,
    audience,
    priority,
    mimeType: resource.mimeType ?? (binary ? "application/octet-stream" : "text/plain"),
    binary,
    size,
    ...omitUndefined({ lastModified }),
    tags: [...new Set(resource.tags)],
  };
}

function isIsoTime(text: string): boolean {
  return ISO_UTC.test(text) && !Number.isNaN(Date.parse(text));
}

const WELL_FORMED_TEXT = "must be text without half of a surrogate pair";

/** Rules for a resource's metadata. Each text names the member that its rule is about. */
const RESOURCE_RULES: readonly (readonly [rule: string, holds: (resource: NewResource) => boolean])[] = [
  [
    `name: must have 1 to ${MAX_NAME} characters`,
    ({ name }) => typeof name === "string" && hasLength(name, 1, MAX_NAME),
  ],
  [`title: must have at most ${MAX_NAME} characters`, ({ title = "" }) => hasLength(title, 0, MAX_NAME)],
  [
    `description: must have at most ${MAX_DESCRIPTION} characters`,
    ({ description = "" }) => hasLength(description, 0, MAX_DESCRIPTION),
  ],
  ["priority: must be from 0 to 1", ({ priority = 0 }) => priority >= 0 && priority <= 1],
  [
    "lastModified: must be ISO 8601 in UTC",
    ({ lastModified }) => lastModified === undefined || isIsoTime(lastModified),
  ],
  [`tags: must have at most ${MAX_TAGS} entries`, ({ tags = [] }) => tags.length <= MAX_TAGS],
  ["tags: must have 1 to 100 characters each", ({ tags = [] }) => tags.every((tag) => hasLength(tag, 1, 100))],
  ...(["name", "title", "description"] as const).map(
    (member) => [`${member}: ${WELL_FORMED_TEXT}`, (resource: NewResource) => isWellFormed(resource[member])] as const,
  ),
  [`tags: ${WELL_FORMED_TEXT}`, ({ tags = [] }) => tags.every(isWellFormed)],
  [`text: ${WELL_FORMED_TEXT}`, ({ text }) => isWellFormed(text)],
];

/** UTF-8 cannot encode half of a surrogate pair, so another character would be stored in its place. */
function isWellFormed(text = ""): boolean {
  return text.isWellFormed();
}

function hasLength(text: string, min: number, max: number): boolean {
  return text.length >= min && text.length <= max;
}

/** The URI and the body to store. Throws a UserError that names the member and the broken rule. */
export function checkResource(
  resource: NewResource,
  limit = MAX_RESOURCE_BYTES,
): { readonly uri: string; readonly bytes: Uint8Array } {
  const uri = normalizeUri(resource.uri);
  if (resource.text === undefined && resource.blob === undefined)
    throw new UserError("resource body: must be text or blob");
  const bytes = resource.blob ?? new TextEncoder().encode(resource.text);
  const maxBytes = Math.min(MAX_RESOURCE_BYTES, limit);
  if (bytes.byteLength > maxBytes) throw new UserError(`resource body: must have at most ${maxBytes} bytes`);
  const brokenRule = RESOURCE_RULES.find(([, holds]) => !holds(resource));
  if (brokenRule) throw new UserError(`resource ${brokenRule[0]}`);
  return { uri, bytes };
}

/** SHA-256 in hexadecimal. */
export async function digestOf(bytes: Uint8Array): Promise<string> {
  const hash = await crypto.subtle.digest("SHA-256", bytes);
  return Array.from(new Uint8Array(hash), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** A query is cut before any other work: normalizing a megabyte takes seconds. */
const MAX_QUERY_CHARACTERS = 1000;
const MAX_WORDS = 16;

/**
 * Searches for texts with all of the words; if there are none, for texts with any of them. The last word may be
 * unfinished, so it also matches the beginning of a longer word.
 */
async function searchResources(
  content: ContentRpc,
  query: string,
  options: { limit?: number; prefix?: string; only: readonly Patterns[] | undefined },
): Promise<(ResourceMeta & { score: number })[]> {
  const words =
    query
      .slice(0, MAX_QUERY_CHARACTERS)
      .normalize("NFKC")
      .match(/[\p{L}\p{N}]+/gu)
      ?.slice(0, MAX_WORDS) ?? [];
  if (words.length === 0) return [];
  const limit = Math.min(Math.max(1, Math.trunc(options.limit ?? 10)), 100);
  const terms = words.map((word, at) => (at === words.length - 1 && isPrefixTerm(word) ? `"${word}"*` : `"${word}"`));
  const { only, prefix = "" } = options;
  const runQuery = (match: string) => content.search({ match, prefix, limit, ...(only === undefined ? {} : { only }) });
  const all = await runQuery(terms.join(" "));
  const rows = all.length > 0 || terms.length === 1 ? all : await runQuery(terms.join(" OR "));
  return rows.map((row) => ({ ...toResourceMeta(row), score: row.score }));
}

/** One Latin letter begins too many words; one Chinese character may be a word. */
function isPrefixTerm(word: string): boolean {
  return word.length > 1 || word > "\u02af";
}

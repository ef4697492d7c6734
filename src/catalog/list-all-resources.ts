// Owns one list of resources over all sources: first what they hold in memory, then what templates list, then the shelves,
// one after the other, with one cursor over the whole chain. The cursor is sealed, because the place where a page ended may be a hidden URI.

import { seal, unseal } from "../auth/seal.ts";
import type { RequestScope } from "../handlers/request-scope.ts";
import { eventOf } from "../handlers/error-outcome.ts";
import type { ResourceList } from "../protocol/request-handlers.ts";
import type { McpRequest } from "../protocol/mcp-request.ts";
import type { ResourceDefinition } from "../protocol/definition.ts";
import type { Failure } from "../protocol/errors.ts";
import type { JsonObject } from "../protocol/jsonrpc.ts";
import { invalid } from "../protocol/methods/params.ts";
import type { PageRequest, ResourcePage } from "../protocol/source.ts";
import { createPatternBudget, tooManyPatternsError } from "../resources/pattern-budget.ts";
import { unavailableMeta, type UnavailableSource } from "./unavailable-sources.ts";
import type { View, ViewedListing } from "./view.ts";

/** Resources per page. */
const PAGE_SIZE = 100;
/** An author's cursor of 4096 characters, each of which JSON, twice, and base64 may write as ten. */
const MAX_CURSOR_CHARACTERS = 40_960;
/** Each has a time of its own; after this, those that were not asked yet are left out. */
const TEMPLATES_TIMEOUT_MS = 10_000;

/** Where a page begins: at this index of what is held in memory, or in a listing after the listing's own cursor. */
type ListPosition = { readonly held: number } | { readonly source: string; readonly after?: string };

interface ListCaller {
  readonly request: McpRequest;
  readonly requestScope: RequestScope;
}

export async function listAllResources(
  cursor: string | undefined,
  view: View,
  caller: ListCaller,
): Promise<ResourceList | Failure> {
  const { requestScope } = caller;
  const position = cursor === undefined ? { held: 0 } : await unsealCursor(cursor, requestScope);
  const firstListing = position && firstListingAt(position, view);
  if (!position || firstListing === undefined) return invalid("cursor", "is not one of this list");
  const page: PartialPage = { items: [], unavailable: [...view.unavailable], until: Date.now() + TEMPLATES_TIMEOUT_MS };
  const nextPosition = await fillPage(page, { position, firstListing, view, caller });
  // What an author lists may be another list for another caller, and from this cursor on nobody else comes.
  const isOwn = cursor !== undefined || nextPosition !== undefined || view.listings.some(({ template }) => template);
  return {
    items: page.items,
    ...(nextPosition === undefined
      ? {}
      : { nextCursor: await seal(requestScope.ring, cursorPurposeOf(requestScope), JSON.stringify(nextPosition)) }),
    meta: unavailableMeta(page.unavailable),
    ...(isOwn && { cacheScope: "private" }),
  };
}

/** A page while it is filled. */
interface PartialPage {
  readonly items: JsonObject[];
  readonly unavailable: UnavailableSource[];
  /** Until when templates are asked, milliseconds since the epoch. */
  readonly until: number;
}

interface FillOptions {
  readonly position: ListPosition;
  /** The first listing to look at. */
  readonly firstListing: number;
  readonly view: View;
  readonly caller: ListCaller;
}

/** Fills a page; gives where the next one begins, undefined where this is the last. */
async function fillPage(
  page: PartialPage,
  { position, firstListing, view, caller }: FillOptions,
): Promise<ListPosition | undefined> {
  if ("held" in position) {
    const end = position.held + PAGE_SIZE;
    page.items.push(...view.resources.slice(position.held, end).map(toListedResource));
    if (end < view.resources.length) return { held: end };
  }
  let after = "source" in position ? position.after : undefined;
  const withinPatternBudget = createPatternBudget(view.resourcePatterns);
  for (const listing of view.listings.slice(firstListing)) {
    const room = PAGE_SIZE - page.items.length;
    // On a full page one item is still asked for: only if there is none is the page the last.
    const result = await tryListing(listing, { cursor: after, limit: Math.max(room, 1) }, { page, caller });
    after = undefined;
    if (!result) continue;
    if (room === 0) {
      if (result.items.length > 0 || result.next !== undefined) return { source: listing.source };
      continue;
    }
    // What comes first hides what comes later under the same URI, as it does in reading.
    const visible = result.items.filter(({ uri }) => {
      if (!withinPatternBudget(uri)) throw tooManyPatternsError();
      return !view.resourcesByUri.has(uri) && view.templateListing(uri) === listing.template && view.sees(uri);
    });
    page.items.push(...visible.map(toListedResource));
    if (result.next !== undefined) return { source: listing.source, after: result.next };
  }
  return undefined;
}

/** Listed under the URI by which the view chose it, whatever else its source wrote there. */
function toListedResource({ uri, wire }: ResourceDefinition): JsonObject {
  return { ...wire, uri };
}

/** undefined: it failed and the list leaves it out. Throws where a required one failed. */
async function tryListing(
  listing: ViewedListing,
  pageRequest: PageRequest,
  { page, caller: { request, requestScope } }: { readonly page: PartialPage; readonly caller: ListCaller },
): Promise<ResourcePage | undefined> {
  const { source, required } = listing;
  try {
    if (listing.template && Date.now() >= page.until) throw new Error(`${source}: no time is left to list it`);
    const result = await listing.list(pageRequest, request, requestScope);
    if (result.items.length > pageRequest.limit) throw new RangeError(`${source}: more than the limit`);
    return result;
  } catch (error) {
    if (required) throw error;
    requestScope.hooks.onError?.(error, eventOf({ name: source, call: request, requestScope }));
    if (!page.unavailable.some((other) => other.source === source)) {
      page.unavailable.push({ source, why: "its resources could not be listed" });
    }
    return undefined;
  }
}

/** The index of the first listing to look at; undefined: the place is not in this view any more. */
function firstListingAt(position: ListPosition, { resources, listings }: View): number | undefined {
  if ("held" in position) return position.held <= resources.length ? 0 : undefined;
  const at = listings.findIndex(({ source }) => source === position.source);
  return at < 0 ? undefined : at;
}

/** What is in it may be an author's own cursor, made for who called: nobody else may present it, elsewhere neither. */
function cursorPurposeOf({ profile, principal }: RequestScope): string {
  return `resources ${profile ?? ""} ${principal.id}`;
}

async function unsealCursor(cursor: string, requestScope: RequestScope): Promise<ListPosition | undefined> {
  if (cursor.length > MAX_CURSOR_CHARACTERS) return undefined;
  const text = await unseal(requestScope.ring, cursorPurposeOf(requestScope), cursor);
  return text === undefined ? undefined : (JSON.parse(text) as ListPosition);
}

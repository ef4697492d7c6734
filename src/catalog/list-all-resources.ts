// One list of resources over all sources: first those in memory, then the templates' lists, then the sources' paged
// resources, with one cursor over the whole chain. The cursor is sealed, because the end of a page may be a hidden URI.

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
import type { View, ViewListing } from "./view.ts";

/** Resources per page. */
const PAGE_SIZE = 100;
/** An author's cursor has at most 4096 characters. JSON (twice) and base64 can write each of them as ten. */
const MAX_CURSOR_CHARACTERS = 40_960;
/** Each template has its own time limit. After this time, the remaining templates are left out. */
const TEMPLATES_TIMEOUT_MS = 10_000;

/** Start of a page: an index of the resources in memory, or a listing and that listing's own cursor. */
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
  // A template's list may differ by caller, and a cursor belongs to one caller, so neither may be shared.
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

/** A page that is being filled. */
interface PartialPage {
  readonly items: JsonObject[];
  readonly unavailable: UnavailableSource[];
  /** Time until which templates are called, in milliseconds since the epoch. */
  readonly until: number;
}

interface FillOptions {
  readonly position: ListPosition;
  /** Index of the first listing to read. */
  readonly firstListing: number;
  readonly view: View;
  readonly caller: ListCaller;
}

/** Fills a page. Returns the position of the next page, or undefined after the last one. */
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
    // A full page still asks for one item: the page is the last only if there is none.
    const result = await tryListing(listing, { cursor: after, limit: Math.max(room, 1) }, { page, caller });
    after = undefined;
    if (!result) continue;
    if (room === 0) {
      if (result.items.length > 0 || result.next !== undefined) return { source: listing.source };
      continue;
    }
    // An earlier source hides later ones with the same URI, as in reading.
    const visible = result.items.filter(({ uri }) => {
      if (!withinPatternBudget(uri)) throw tooManyPatternsError();
      return !view.resourcesByUri.has(uri) && view.templateListing(uri) === listing.template && view.sees(uri);
    });
    page.items.push(...visible.map(toListedResource));
    if (result.next !== undefined) return { source: listing.source, after: result.next };
  }
  return undefined;
}

/** Lists a resource under the URI that the view checked, whatever URI its source wrote into the entry. */
function toListedResource({ uri, wire }: ResourceDefinition): JsonObject {
  return { ...wire, uri };
}

/** Returns undefined if the listing failed and the list leaves it out. Throws if a required one failed. */
async function tryListing(
  listing: ViewListing,
  pageRequest: PageRequest,
  { page, caller: { request, requestScope } }: { readonly page: PartialPage; readonly caller: ListCaller },
): Promise<ResourcePage | undefined> {
  const { source, required } = listing;
  try {
    if (listing.template && Date.now() >= page.until) throw new Error(`${source}: no time left to list its resources`);
    const result = await listing.list(pageRequest, request, requestScope);
    if (result.items.length > pageRequest.limit)
      throw new RangeError(
        `${source}: returned ${result.items.length} resources, more than the limit of ${pageRequest.limit}`,
      );
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

/** The index of the first listing to read; undefined if the position is no longer in this view. */
function firstListingAt(position: ListPosition, { resources, listings }: View): number | undefined {
  if ("held" in position) return position.held <= resources.length ? 0 : undefined;
  const at = listings.findIndex(({ source }) => source === position.source);
  return at < 0 ? undefined : at;
}

/**
 * The cursor may hold an author's own cursor for this caller, so no other principal and no other profile may use it.
 */
function cursorPurposeOf({ profile, principal }: RequestScope): string {
  return `resources ${profile ?? ""} ${principal.id}`;
}

async function unsealCursor(cursor: string, requestScope: RequestScope): Promise<ListPosition | undefined> {
  if (cursor.length > MAX_CURSOR_CHARACTERS) return undefined;
  const text = await unseal(requestScope.ring, cursorPurposeOf(requestScope), cursor);
  return text === undefined ? undefined : (JSON.parse(text) as ListPosition);
}

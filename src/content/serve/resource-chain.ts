// Owns one list of resources over all sources: first what they hold in memory, then what templates list, then the shelves,
// one after the other, with one cursor over the whole chain. The cursor is sealed, because the place where a page ended may be a hidden URI.

import { seal, unseal } from "../../auth/seal.ts";
import type { CallHost } from "../../calls/call-host.ts";
import { eventOf } from "../../calls/fault.ts";
import type { Page } from "../../protocol/backend.ts";
import type { Call } from "../../protocol/call.ts";
import type { ResourceDefinition } from "../../protocol/definition.ts";
import type { Failure } from "../../protocol/errors.ts";
import type { JsonObject } from "../../protocol/jsonrpc.ts";
import { invalid } from "../../protocol/methods/params.ts";
import type { ShelfAsk, ShelfPage } from "../../protocol/source.ts";
import { budgetOf, tooManyPatterns } from "../store/pattern-work.ts";
import { missingMeta, type Missing } from "./missing.ts";
import type { View, ViewedListing } from "./view.ts";

/** Resources per page. */
const PAGE = 100;
/** An author's cursor of 4096 characters, each of which JSON, twice, and base64 may write as ten. */
const MAX_CURSOR_CHARACTERS = 40_960;
/** Each has a time of its own; after this, those that were not asked yet are left out. */
const TEMPLATES_WITHIN_MS = 10_000;

/** Where a page begins: at this index of what is held in memory, or in a listing after the listing's own cursor. */
type ChainPlace = { readonly held: number } | { readonly source: string; readonly after?: string };

interface Asker {
  readonly call: Call;
  readonly host: CallHost;
}

export async function listChain(cursor: string | undefined, view: View, asker: Asker): Promise<Page | Failure> {
  const { host } = asker;
  const place = cursor === undefined ? { held: 0 } : await openCursor(cursor, host);
  const at = place && listingAt(place, view);
  if (!place || at === undefined) return invalid("cursor", "is not one of this list");
  const page: Filling = { items: [], missing: [...view.missing], until: Date.now() + TEMPLATES_WITHIN_MS };
  const next = await fill(page, { place, at, view, asker });
  // What an author lists may be another list for another caller, and from this cursor on nobody else comes.
  const isOwn = cursor !== undefined || next !== undefined || view.listings.some(({ template }) => template);
  return {
    items: page.items,
    ...(next === undefined ? {} : { nextCursor: await seal(host.ring, purposeOf(host), JSON.stringify(next)) }),
    meta: missingMeta(page.missing),
    ...(isOwn && { cacheScope: "private" }),
  };
}

/** A page while it is filled. */
interface Filling {
  readonly items: JsonObject[];
  readonly missing: Missing[];
  /** Until when templates are asked, milliseconds since the epoch. */
  readonly until: number;
}

interface From {
  readonly place: ChainPlace;
  /** The first listing to look at. */
  readonly at: number;
  readonly view: View;
  readonly asker: Asker;
}

/** Fills a page; gives where the next one begins, undefined where this is the last. */
async function fill(page: Filling, { place, at, view, asker }: From): Promise<ChainPlace | undefined> {
  if ("held" in place) {
    const end = place.held + PAGE;
    page.items.push(...view.resources.slice(place.held, end).map(listed));
    if (end < view.resources.length) return { held: end };
  }
  let after = "source" in place ? place.after : undefined;
  const mayLook = budgetOf(view.only);
  for (const listing of view.listings.slice(at)) {
    const room = PAGE - page.items.length;
    // On a full page one item is still asked for: only if there is none is the page the last.
    const found = await listOne(listing, { cursor: after, limit: Math.max(room, 1) }, { page, asker });
    after = undefined;
    if (!found) continue;
    if (room === 0) {
      if (found.items.length > 0 || found.next !== undefined) return { source: listing.source };
      continue;
    }
    // What comes first hides what comes later under the same URI, as it does in reading.
    const shown = found.items.filter(({ uri }) => {
      if (!mayLook(uri)) throw tooManyPatterns();
      return !view.resourcesByUri.has(uri) && view.lister(uri) === listing.template && view.sees(uri);
    });
    page.items.push(...shown.map(listed));
    if (found.next !== undefined) return { source: listing.source, after: found.next };
  }
  return undefined;
}

/** Listed under the URI by which the view chose it, whatever else its source wrote there. */
function listed({ uri, wire }: ResourceDefinition): JsonObject {
  return { ...wire, uri };
}

/** undefined: it failed and the list leaves it out. Throws where a required one failed. */
async function listOne(
  listing: ViewedListing,
  ask: ShelfAsk,
  { page, asker: { call, host } }: { readonly page: Filling; readonly asker: Asker },
): Promise<ShelfPage | undefined> {
  const { source, required } = listing;
  try {
    if (listing.template && Date.now() >= page.until) throw new Error(`${source}: no time is left to list it`);
    const found = await listing.list(ask, call, host);
    if (found.items.length > ask.limit) throw new RangeError(`${source}: more than the limit`);
    return found;
  } catch (error) {
    if (required) throw error;
    host.hooks.onError?.(error, eventOf({ name: source, call, host }));
    if (!page.missing.some((known) => known.source === source)) {
      page.missing.push({ source, why: "its resources could not be listed" });
    }
    return undefined;
  }
}

/** The index of the first listing to look at; undefined: the place is not in this view any more. */
function listingAt(place: ChainPlace, { resources, listings }: View): number | undefined {
  if ("held" in place) return place.held <= resources.length ? 0 : undefined;
  const at = listings.findIndex(({ source }) => source === place.source);
  return at < 0 ? undefined : at;
}

/** What is in it may be an author's own cursor, made for who called: nobody else may present it, elsewhere neither. */
function purposeOf({ profile, principal }: CallHost): string {
  return `resources ${profile ?? ""} ${principal.id}`;
}

async function openCursor(cursor: string, host: CallHost): Promise<ChainPlace | undefined> {
  if (cursor.length > MAX_CURSOR_CHARACTERS) return undefined;
  const opened = await unseal(host.ring, purposeOf(host), cursor);
  return opened === undefined ? undefined : (JSON.parse(opened) as ChainPlace);
}

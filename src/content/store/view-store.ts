// Owns the store as one view may use it: what the view hides is neither found, listed, searched nor written.

import { AppError } from "../../protocol/app-error.ts";
import { encodeCursor } from "../../protocol/cursor.ts";
import { parseUri } from "../../protocol/uri.ts";
import type { Sight } from "../../calls/call-host.ts";
import { remote, type TenantStub } from "../../tenants/authority/tables.ts";
import { contentTables } from "./content-tables.ts";
import { openStore } from "./open-store.ts";
import type { ResourceMeta, ResourceStore } from "../../calls/resource-store.ts";

/** How many pages are looked through for one page of visible rows. Where a view hides nearly all, it may stay empty. */
const MAX_PAGES = 5;
/** Rows of each page after the first, so that few calls are needed where much is hidden. */
const FURTHER = 1000;

export function viewStore(store: ResourceStore, sees: (uri: string) => boolean): ResourceStore {
  const visible = (uri: string): boolean => {
    const parsed = parseUri(uri);
    return "uri" in parsed && sees(parsed.uri);
  };
  return {
    list: (options = {}) => listVisible(store, options, sees),
    get: async (uri) => (visible(uri) ? store.get(uri) : undefined),
    read: async (uri) => (visible(uri) ? store.read(uri) : undefined),
    write: (resource, options) => {
      if (!visible(resource.uri))
        throw new AppError("invalidParams", { message: `${resource.uri} is not writable here` });
      return store.write(resource, options);
    },
    delete: async (uri) => visible(uri) && store.delete(uri),
    search: async (query, options = {}) => {
      const limit = options.limit ?? 10;
      const found = await store.search(query, { ...options, limit: 100 });
      return found.filter((match) => sees(match.uri)).slice(0, limit);
    },
    tags: (options) => tagsOf(store, options?.prefix ?? "", sees),
    uris: async (prefix, limit) => (await store.uris(prefix, limit)).filter(sees),
  };
}

async function listVisible(
  store: ResourceStore,
  options: NonNullable<Parameters<ResourceStore["list"]>[0]>,
  sees: (uri: string) => boolean,
): Promise<{ items: ResourceMeta[]; cursor?: string }> {
  const items: ResourceMeta[] = [];
  const limit = options.limit ?? 100;
  let { cursor } = options;
  for (let pages = 0; pages < MAX_PAGES && items.length < limit; pages += 1) {
    const page = await store.list({
      ...options,
      limit: pages === 0 ? limit : FURTHER,
      ...(cursor === undefined ? {} : { cursor }),
    });
    items.push(...page.items.filter((item) => sees(item.uri)));
    const last = items[limit - 1];
    if (last && items.length > limit) {
      return { items: items.slice(0, limit), cursor: encodeCursor("stored", last.uri) };
    }
    cursor = page.cursor;
    if (cursor === undefined) return { items };
  }
  return cursor === undefined ? { items } : { items, cursor };
}

/** Counts what is visible, up to 1000 resources of a tag. A tag that only hidden resources have is left out. */
async function tagsOf(
  store: ResourceStore,
  prefix: string,
  sees: (uri: string) => boolean,
): Promise<{ tag: string; count: number }[]> {
  const counts = new Map<string, number>();
  for (const { tag } of await store.tags({ prefix })) {
    const { items } = await store.list({ prefix, tag, limit: 1000 });
    const count = items.filter((item) => sees(item.uri)).length;
    if (count > 0) counts.set(tag, count);
  }
  return [...counts].map(([tag, count]) => ({ tag, count }));
}

/** What `ctx.resources` is under a view. */
export function resourcesUnder(
  { tenant, sight, bodies }: { readonly tenant: string; readonly sight: Sight; readonly bodies: KVNamespace },
  stub: TenantStub,
): ResourceStore {
  const store = openStore(tenant, remote(stub, contentTables), bodies, sight.limits);
  return sight.seesAll ? store : viewStore(store, (uri) => sight.sees(uri));
}

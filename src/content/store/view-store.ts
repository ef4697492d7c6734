// Owns the store as one view may use it: what the view hides is neither found, listed, searched nor written.

import { given } from "../../protocol/members.ts";
import { AppError } from "../../protocol/app-error.ts";
import { encodeCursor } from "../../protocol/cursor.ts";
import { parseUri } from "../../protocol/uri.ts";
import type { Sight } from "../../calls/call-host.ts";
import { remote } from "../../tenants/authority/tables.ts";
import type { TenantStub } from "../../tenants/authority/incarnation.ts";
import { contentTables } from "./content-tables.ts";
import { openStore, type ContentPlace } from "./open-store.ts";
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
    search: async (query, options) => (await store.search(query, options)).filter(({ uri }) => sees(uri)),
    tags: (options) => store.tags(options),
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
      ...given({ cursor }),
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

/** What `ctx.resources` is under a view. */
export function resourcesUnder(
  { kept, sight, bodies }: Pick<ContentPlace, "kept" | "bodies"> & { readonly sight: Sight },
  content: TenantStub,
): ResourceStore {
  const { limits, only } = sight;
  const store = openStore(
    { kept, content: remote(content, contentTables), bodies },
    { limits, ...(only ? { only } : {}) },
  );
  return only ? viewStore(store, (uri) => sight.sees(uri)) : store;
}

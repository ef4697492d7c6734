// Owns the store as one view may use it: what the view hides is neither found, listed, searched nor written.

import { AppError } from "../../protocol/app-error.ts";
import { parseUri } from "../../protocol/uri.ts";
import type { CallHost } from "../../calls/call-host.ts";
import { remote } from "../../tenants/authority/tables.ts";
import type { TenantStub } from "../../tenants/authority/incarnation.ts";
import { contentTables } from "./content-tables.ts";
import type { ContentPlace } from "./bodies.ts";
import { openStore } from "./open-store.ts";
import type { ResourceStore } from "../../calls/resource-store.ts";

/** `store` gives in lists, searches and counts what the view sees. */
function viewStore(store: ResourceStore, sees: (uri: string) => boolean): ResourceStore {
  const visible = (uri: string): boolean => {
    const parsed = parseUri(uri);
    return "uri" in parsed && sees(parsed.uri);
  };
  return {
    list: (options) => store.list(options),
    get: async (uri) => (visible(uri) ? store.get(uri) : undefined),
    read: async (uri) => (visible(uri) ? store.read(uri) : undefined),
    write: (resource, options) => {
      if (!visible(resource.uri))
        throw new AppError("invalidParams", { message: `${resource.uri} is not writable here` });
      return store.write(resource, options);
    },
    delete: async (uri) => visible(uri) && store.delete(uri),
    search: (query, options) => store.search(query, options),
    tags: (options) => store.tags(options),
    uris: (prefix, limit) => store.uris(prefix, limit),
  };
}

/** What `ctx.resources` is under a view. */
export function resourcesUnder(
  { kept, sight, limits, bodies }: Pick<ContentPlace, "kept" | "bodies"> & Pick<CallHost, "sight" | "limits">,
  content: TenantStub,
): ResourceStore {
  const { only } = sight;
  const store = openStore(
    { kept, content: remote(content, contentTables), bodies },
    { limits, ...(only ? { only } : {}) },
  );
  return only ? viewStore(store, (uri) => sight.sees(uri)) : store;
}

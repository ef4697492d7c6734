// The store as one view may use it: hidden resources are not found, listed, searched or written.

import { AppError } from "../protocol/app-error.ts";
import { parseUri } from "../protocol/uri.ts";
import type { RequestScope } from "../handlers/request-scope.ts";
import { createRpcClient } from "../tenants/object/store.ts";
import type { TenantStub } from "../tenants/object/tenant-uid.ts";
import { contentStore } from "./content-store.ts";
import type { ContentLocation } from "./bodies.ts";
import { createResourceStore } from "./tenant-resource-store.ts";
import type { ResourceStore } from "../handlers/resource-store.ts";

/** The lists, searches and counts of `store` are already limited to the view. */
function restrictStore(store: ResourceStore, isVisibleUri: (uri: string) => boolean): ResourceStore {
  const isVisible = (uri: string): boolean => {
    const parsed = parseUri(uri);
    return "uri" in parsed && isVisibleUri(parsed.uri);
  };
  return {
    list: (options) => store.list(options),
    get: async (uri) => (isVisible(uri) ? store.get(uri) : undefined),
    read: async (uri) => (isVisible(uri) ? store.read(uri) : undefined),
    write: (resource, options) => {
      if (!isVisible(resource.uri))
        throw new AppError("invalidParams", { message: `${resource.uri} is not writable here` });
      return store.write(resource, options);
    },
    delete: async (uri) => isVisible(uri) && store.delete(uri),
    search: (query, options) => store.search(query, options),
    tags: (options) => store.tags(options),
    uris: (prefix, limit) => store.uris(prefix, limit),
  };
}

/** The `ctx.resources` of a view. */
export function createViewStore(
  {
    storageKey,
    access,
    limits,
    bodies,
  }: Pick<ContentLocation, "storageKey" | "bodies"> & Pick<RequestScope, "access" | "limits">,
  content: TenantStub,
): ResourceStore {
  const { resourcePatterns: only } = access;
  const store = createResourceStore(
    { storageKey, content: createRpcClient(content, contentStore), bodies },
    { limits, ...(only ? { only } : {}) },
  );
  return only ? restrictStore(store, (uri) => access.sees(uri)) : store;
}

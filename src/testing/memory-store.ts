// In-memory resource store with the rules of the real store. Search does not rank: a resource matches if it contains
// every word.

import {
  InvalidCursorError,
  type NewResource,
  type ResourceMeta,
  type ResourceStore,
} from "../handlers/resource-store.ts";
import { checkResource } from "../resources/tenant-resource-store.ts";
import { omitUndefined } from "../protocol/members.ts";
import { parseUri } from "../protocol/uri.ts";

interface StoredResource {
  readonly meta: ResourceMeta;
  readonly resource: NewResource;
}

const normalizeUri = (uri: string) => {
  const parsed = parseUri(uri);
  return "uri" in parsed ? parsed.uri : uri;
};

/** `addEffect` receives each write and delete. */
export function createMemoryStore(seed: readonly NewResource[], addEffect: (what: string) => void): ResourceStore {
  const stored = new Map<string, StoredResource>();
  const sorted = (prefix = "") =>
    [...stored.values()]
      .filter(({ meta }) => meta.uri.startsWith(prefix))
      .toSorted((a, b) => (a.meta.uri < b.meta.uri ? -1 : 1));
  const put = (resource: NewResource) => {
    const { uri, bytes } = checkResource(resource);
    const meta = metaOf(uri, resource, bytes.byteLength);
    stored.set(uri, { meta, resource });
    return meta;
  };
  seed.forEach(put);
  return {
    list: async ({ prefix, tag, cursor = "", limit = 100 } = {}) => {
      if (cursor !== "" && !stored.has(cursor)) throw new InvalidCursorError("cursor: is not one of this list");
      const all = sorted(prefix).filter(({ meta }) => tag === undefined || meta.tags.includes(tag));
      const items = all.map(({ meta }) => meta).filter(({ uri }) => uri > cursor);
      const page = items.slice(0, limit);
      return omitUndefined({ items: page, cursor: items.length > limit ? page.at(-1)?.uri : undefined });
    },
    get: async (uri) => stored.get(normalizeUri(uri))?.meta,
    read: async (uri) => {
      const entry = stored.get(normalizeUri(uri));
      return entry && { ...entry.meta, ...bodyOf(entry.resource) };
    },
    write: async (resource, { ifAbsent = false } = {}) => {
      const existing = stored.get(normalizeUri(resource.uri));
      if (existing && ifAbsent) return existing.meta;
      addEffect(`write ${resource.uri}`);
      return put(resource);
    },
    delete: async (uri) => {
      addEffect(`delete ${uri}`);
      return stored.delete(normalizeUri(uri));
    },
    search: async (query, { limit = 10, prefix } = {}) => {
      const words = query.toLowerCase().split(/\W+/).filter(Boolean);
      const has = ({ meta, resource }: StoredResource) => {
        const text = [meta.name, meta.title, meta.description, resource.text].join(" ").toLowerCase();
        return words.length > 0 && words.every((word) => text.includes(word));
      };
      const entries = sorted(prefix).filter(has);
      return entries.slice(0, limit).map(({ meta }) => ({ ...meta, score: 1 }));
    },
    tags: async ({ prefix } = {}) => {
      const counts = new Map<string, number>();
      for (const tag of sorted(prefix).flatMap(({ meta }) => meta.tags)) counts.set(tag, (counts.get(tag) ?? 0) + 1);
      return [...counts].map(([tag, count]) => ({ tag, count }));
    },
    uris: async (prefix, limit) =>
      sorted(prefix)
        .slice(0, limit)
        .map(({ meta }) => meta.uri),
  };
}

function bodyOf({ text, blob }: NewResource): { readonly text: string } | { readonly blob: Uint8Array } {
  return blob === undefined ? { text: text ?? "" } : { blob };
}

function metaOf(uri: string, resource: NewResource, size: number): ResourceMeta {
  const { name, title, description, audience, priority, tags = [] } = resource;
  const { mimeType = resource.blob ? "application/octet-stream" : "text/plain" } = resource;
  const { lastModified = new Date().toISOString() } = resource;
  return omitUndefined({ uri, name, title, description, mimeType, size, lastModified, audience, priority, tags });
}

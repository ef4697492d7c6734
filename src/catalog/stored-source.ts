// The source of a tenant's stored content: prompts of its document, resources of its store, and the built-in tools over
// them.

import type { RequestScope } from "../handlers/request-scope.ts";
import { runAfterCall } from "../handlers/run-handler-call.ts";
import type { ResourceMeta } from "../handlers/resource-store.ts";
import type { JsonObject } from "../protocol/jsonrpc.ts";
import { omitUndefined } from "../protocol/members.ts";
import type { PagedResources, Source } from "../protocol/source.ts";
import type { TenantDocument } from "../tenants/document/tenant-document.ts";
import { withTimeoutOrBusy } from "../tenants/cache/with-timeout.ts";
import { resourceContents } from "../handlers/resource-contents.ts";
import { createDocumentPrompt } from "./document-prompt.ts";
import { searchTools } from "./search-tools.ts";

export function createStoredSource({ prompts = {} }: TenantDocument): Source<RequestScope> {
  return {
    id: "stored",
    state: { kind: "fresh" },
    tools: searchTools,
    prompts: Object.entries(prompts).map(([name, prompt]) => createDocumentPrompt(name, prompt)),
    resources: [],
    templates: [],
    shelf: storedResources,
    required: true,
  };
}

/** A body may be large, and reading it from KV may need several tries. */
const BODY_TIMEOUT_MS = 30_000;

/** The request's store already hides what the view hides, so nothing is filtered here. */
const storedResources: PagedResources<RequestScope> = {
  list: async ({ cursor, limit }, requestScope) => {
    const { items, cursor: next } = await withTimeoutOrBusy(
      requestScope.resources().list(omitUndefined({ limit, cursor })),
    );
    return omitUndefined({ items: items.map((meta) => ({ uri: meta.uri, wire: toWire(meta) })), next });
  },
  read: async ({ uri, asked }, request, requestScope) => {
    const stored = await withTimeoutOrBusy(requestScope.resources().read(uri), BODY_TIMEOUT_MS);
    if (!stored) return undefined;
    runAfterCall(uri, request, requestScope);
    return {
      kind: "complete",
      result: resourceContents(asked, stored.mimeType, stored.text ?? stored.blob),
      cache: { ttlMs: 0, cacheScope: requestScope.access.cacheScope },
    };
  },
};

function toWire(meta: ResourceMeta): JsonObject {
  const { uri, name, title, description, mimeType, size, lastModified, audience, priority } = meta;
  const annotations = omitUndefined({ audience, priority, lastModified });
  return omitUndefined({ uri, name, title, description, mimeType, size, annotations });
}

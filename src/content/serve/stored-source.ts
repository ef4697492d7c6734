// Owns the source of what a tenant's operators and tools stored: prompts of its document, resources of its store, and
// the built-in tools over them.

import type { CallHost } from "../../calls/call-host.ts";
import { reportEnd } from "../../calls/handle.ts";
import type { ResourceMeta } from "../../calls/resource-store.ts";
import type { JsonObject } from "../../protocol/jsonrpc.ts";
import { given } from "../../protocol/members.ts";
import type { Shelf, Source } from "../../protocol/source.ts";
import type { TenantDocument } from "../../tenants/document/tenant-document.ts";
import { reached } from "../../tenants/isolate/in-time.ts";
import { resourceContents } from "../define/contents.ts";
import { documentPrompt } from "./document-prompt.ts";
import { searchTools } from "./search-tools.ts";

export function storedSource({ prompts = {} }: TenantDocument): Source<CallHost> {
  return {
    id: "stored",
    state: { kind: "fresh" },
    tools: searchTools,
    prompts: Object.entries(prompts).map(([name, prompt]) => documentPrompt(name, prompt)),
    resources: [],
    templates: [],
    shelf,
    required: true,
  };
}

/** A body may be large, and KV be asked again for it. */
const BODY_WITHIN_MS = 30_000;

/** The host's store already hides what the view hides, so nothing is filtered here. */
const shelf: Shelf<CallHost> = {
  list: async ({ cursor, limit }, host) => {
    const { items, cursor: next } = await reached(host.resources().list(given({ limit, cursor })));
    return given({ items: items.map((meta) => ({ uri: meta.uri, wire: wireOf(meta) })), next });
  },
  read: async ({ uri, asked }, call, host) => {
    const stored = await reached(host.resources().read(uri), BODY_WITHIN_MS);
    if (!stored) return undefined;
    reportEnd(uri, call, host);
    return {
      kind: "complete",
      result: resourceContents(asked, stored.mimeType, stored.text ?? stored.blob),
      cache: { ttlMs: 0, cacheScope: host.sight.cacheScope },
    };
  },
};

function wireOf(meta: ResourceMeta): JsonObject {
  const { uri, name, title, description, mimeType, size, lastModified, audience, priority } = meta;
  const annotations = given({ audience, priority, lastModified });
  return given({ uri, name, title, description, mimeType, size, annotations });
}

// Owns which upstream has a URI by its beginning, as the tenant's document says: the longest prefix decides. Pure. What
// no prefix decides belongs to whoever listed it first.

import { normalizeLiteral } from "../../protocol/uri.ts";
import type { TenantDocument } from "../../tenants/document/tenant-document.ts";

export type UriPrefix = readonly [prefix: string, upstream: string];

/** Of all upstreams, longest first; one that is switched off keeps what it has. */
export function uriPrefixes({ upstreams = {} }: TenantDocument): readonly UriPrefix[] {
  return Object.entries(upstreams)
    .flatMap(([id, { uris = [] }]) => uris.map((prefix): UriPrefix => [normalizeLiteral(prefix, true) ?? prefix, id]))
    .toSorted(([a], [b]) => b.length - a.length);
}

/** `uri`: in its normal form, or a template. */
export function prefixOf(prefixes: readonly UriPrefix[], uri: string): UriPrefix | undefined {
  return prefixes.find(([prefix]) => uri.startsWith(prefix));
}

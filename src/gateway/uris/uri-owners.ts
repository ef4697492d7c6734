// Owns which upstream has a URI by its beginning, as the tenant's document says: the longest prefix decides. Pure. What
// no prefix decides belongs to whoever listed it first.

import type { ListedKind } from "../../protocol/definition.ts";
import { normalizeLiteral, parseUri } from "../../protocol/uri.ts";
import type { TenantDocument } from "../../tenants/document/tenant-document.ts";

export type UriPrefix = readonly [prefix: string, upstream: string];

/** Of all upstreams, longest first; one that is switched off keeps what it has. */
export function uriPrefixes({ upstreams = {} }: TenantDocument): readonly UriPrefix[] {
  return Object.entries(upstreams)
    .flatMap(([id, { uris = [] }]) => uris.map((prefix): UriPrefix => [normalizeLiteral(prefix, true) ?? prefix, id]))
    .toSorted(([a], [b]) => b.length - a.length);
}

/** `uri`: in its normal form, or that of a template. */
export function prefixOf(prefixes: readonly UriPrefix[], uri: string): UriPrefix | undefined {
  return prefixes.find(([prefix]) => uri.startsWith(prefix));
}

/** Whether a prefix gives it to another upstream. */
export function belongsToOther(prefixes: readonly UriPrefix[], id: string, uri: string): boolean {
  return (prefixOf(prefixes, uri)?.[1] ?? id) !== id;
}

/** What an upstream writes as a URI or a template, as prefixes are compared with it: whatever its spelling. */
export function normalizeListedUri(kind: ListedKind, written: string): string {
  if (kind === "resources") {
    const parsed = parseUri(written);
    return "uri" in parsed ? parsed.uri : written;
  }
  const [literal = ""] = written.split("{", 1);
  return (normalizeLiteral(literal, true) ?? literal) + written.slice(literal.length);
}

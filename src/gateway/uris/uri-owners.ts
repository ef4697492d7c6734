// Which upstream owns a URI by its prefix, as the tenant's document says: the longest prefix wins. URIs without a
// prefix belong to the upstream that listed them first.

import type { ListedKind } from "../../protocol/definition.ts";
import { normalizeLiteral, parseUri } from "../../protocol/uri.ts";
import type { TenantDocument } from "../../tenants/document/tenant-document.ts";

export type UriPrefix = readonly [prefix: string, upstream: string];

/** Prefixes of all upstreams, longest first. A disabled upstream keeps its prefixes. */
export function uriPrefixes({ upstreams = {} }: TenantDocument): readonly UriPrefix[] {
  return Object.entries(upstreams)
    .flatMap(([id, { uris = [] }]) => uris.map((prefix): UriPrefix => [normalizeLiteral(prefix, true) ?? prefix, id]))
    .toSorted(([a], [b]) => b.length - a.length);
}

/** `uri` must be normalized, whether a URI or a template. */
export function prefixOf(prefixes: readonly UriPrefix[], uri: string): UriPrefix | undefined {
  return prefixes.find(([prefix]) => uri.startsWith(prefix));
}

export function belongsToOther(prefixes: readonly UriPrefix[], id: string, uri: string): boolean {
  return (prefixOf(prefixes, uri)?.[1] ?? id) !== id;
}

/** Normalizes a URI or template of an upstream for comparison with prefixes. */
export function normalizeListedUri(kind: ListedKind, written: string): string {
  if (kind === "resources") {
    const parsed = parseUri(written);
    return "uri" in parsed ? parsed.uri : written;
  }
  const [literal = ""] = written.split("{", 1);
  return (normalizeLiteral(literal, true) ?? literal) + written.slice(literal.length);
}

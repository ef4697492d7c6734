// Reads `_meta["tenantry/missing"]` of a list: upstreams whose definitions are missing from it, in whole or in part.
// docs/gateway.md

import { isObject, type JsonObject } from "../protocol/jsonrpc.ts";

const MISSING = "tenantry/missing";

export interface MissingUpstream {
  readonly source: string;
  readonly why: string;
}

/** Ignores malformed values, because any server may be at the other end. */
export function missingUpstreamsOf({ _meta }: JsonObject): readonly MissingUpstream[] {
  const missing: unknown = isObject(_meta) ? _meta[MISSING] : undefined;
  if (!Array.isArray(missing)) return [];
  return (missing as readonly unknown[]).flatMap((one) => {
    if (!isObject(one) || typeof one.source !== "string" || typeof one.why !== "string") return [];
    return { source: one.source, why: one.why };
  });
}

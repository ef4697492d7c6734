// Reads `_meta["tenantry/missing"]` of a list: the upstreams of which something is not in it. docs/gateway.md

import { isObject, type JsonObject } from "../protocol/jsonrpc.ts";

const MISSING = "tenantry/missing";

export interface MissingUpstream {
  /** The upstream. */
  readonly source: string;
  readonly why: string;
}

/** Whatever server it is: what says nothing that can be read says nothing. */
export function missingUpstreamsOf({ _meta }: JsonObject): readonly MissingUpstream[] {
  const missing: unknown = isObject(_meta) ? _meta[MISSING] : undefined;
  if (!Array.isArray(missing)) return [];
  return (missing as readonly unknown[]).flatMap((one) => {
    if (!isObject(one) || typeof one.source !== "string" || typeof one.why !== "string") return [];
    return { source: one.source, why: one.why };
  });
}

import type { BuiltInFeature } from "../../deployment/deployment.ts";
import type { Feature } from "../../deployment/feature.ts";
import { assertNoOptions } from "../../protocol/members.ts";
import { overflowStore } from "./overflow-store.ts";

/**
 * Adds `ctx.link` to a Worker without `gateway()`, which includes it. `ctx.link` stores a large result for a while and
 * returns a link that only the caller can read.
 */
export function links(...options: readonly never[]): Feature {
  assertNoOptions("links", options);
  const feature: BuiltInFeature = { name: "links", results: overflowStore };
  return feature;
}

// Owns the feature `links()`: `ctx.link` in a Worker without the gateway, which has it too.

import type { BuiltInFeature } from "../../deployment/deployment.ts";
import type { Feature } from "../../deployment/feature.ts";
import { assertNoOptions } from "../../protocol/members.ts";
import { overflowStore } from "./overflow-store.ts";

/** `ctx.link`: large results that are kept for a while, for the one who called. */
export function links(...options: readonly never[]): Feature {
  assertNoOptions("links", options);
  const feature: BuiltInFeature = { name: "links", results: overflowStore };
  return feature;
}

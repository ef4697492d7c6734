// Owns the feature `links()`: `ctx.link` in a Worker without the gateway, which has it too.

import type { Feature } from "../../deployment/deployment.ts";
import { refuseOptions } from "../../protocol/members.ts";
import { resultKeeper } from "./rest.ts";

/** `ctx.link`: large results that are kept for a while, for the one who called. */
export function links(...options: readonly never[]): Feature {
  refuseOptions("links", options);
  return { name: "links", results: resultKeeper };
}

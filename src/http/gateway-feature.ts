// Owns the feature `gateway()` as a Worker's author imports it: upstreams, and the endpoint on which a message names one.
// A Worker without it has neither in its bundle.

import { upstreamsFeature } from "../gateway/gateway.ts";
import { unwrapMessage } from "../gateway/wrapped-calls.ts";
import { wrappedRoutes } from "./wrapped-endpoint.ts";

/** Upstreams of tenants: `docs/gateway.md`. */
export function gateway(): ReturnType<typeof upstreamsFeature> {
  return { ...upstreamsFeature(), routes: wrappedRoutes(unwrapMessage) };
}

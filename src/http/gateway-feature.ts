// Owns the feature `gateway()` as a Worker's author imports it: upstreams, and the endpoint on which a message names one.
// A Worker without it has neither in its bundle.

import { upstreamsFeature, type GatewayOptions } from "../gateway/gateway.ts";
import { unwrapMessage } from "../gateway/wrapped-calls.ts";
import { pageHeaders } from "./page-headers.ts";
import { wrappedRoutes } from "./wrapped-endpoint.ts";

/** Upstreams of tenants: `docs/gateway.md`. */
export function gateway(options: GatewayOptions = {}): ReturnType<typeof upstreamsFeature> {
  return { ...upstreamsFeature(options), pageHeaders, routes: wrappedRoutes(unwrapMessage) };
}

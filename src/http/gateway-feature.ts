// Owns the feature `gateway()` as a Worker's author imports it: upstreams, and the endpoint on which a message names one.

import { exposedBy } from "../auth/origin.ts";
import { upstreamsFeature, type GatewayOptions } from "../gateway/gateway.ts";
import type { GatewayFeature } from "../gateway/refresh-entrypoint.ts";
import { unwrapMessage } from "../gateway/wrapped-calls.ts";
import { wrappedRoutes } from "./wrapped-endpoint.ts";

/** Upstreams of tenants: `docs/gateway.md`. */
export function gateway(options: GatewayOptions = {}): GatewayFeature {
  // Upstreams are sent headers of clients.
  return { ...upstreamsFeature(options), exposed: exposedBy, routes: wrappedRoutes(unwrapMessage) };
}

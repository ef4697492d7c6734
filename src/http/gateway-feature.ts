// Owns the feature `gateway()` as a Worker's author imports it: upstreams, and the endpoint on which a message names one.

import { exposedBy } from "../auth/origin.ts";
import type { BuiltInFeature } from "../deployment/deployment.ts";
import type { Feature } from "../deployment/feature.ts";
import { upstreamsFeature, type GatewayOptions } from "../gateway/gateway.ts";
import { unwrapMessage } from "../gateway/wrapped-calls.ts";
import { wrappedRoutes } from "./wrapped-endpoint.ts";

/** Upstreams of tenants: `docs/gateway.md`. */
export function gateway(options: GatewayOptions = {}): Feature {
  // Upstreams are sent headers of clients.
  const feature: BuiltInFeature = {
    ...upstreamsFeature(options),
    exposed: exposedBy,
    routes: wrappedRoutes(unwrapMessage),
  };
  return feature;
}

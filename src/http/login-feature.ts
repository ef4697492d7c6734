// Owns the feature `login()` as a Worker's author imports it: who calls, and the routes of its endpoints. A Worker without it
// has neither in its bundle.

import type { BuiltInFeature } from "../deployment/deployment.ts";
import type { Feature } from "../deployment/feature.ts";
import { loginFeature } from "../login/login.ts";
import { loginRoutes } from "./login-endpoint.ts";
import { refuseOptions } from "../protocol/members.ts";
import { metadataRoutes } from "./well-known.ts";

/** Tokens of the authorization servers that a tenant names, and of its own: `docs/login.md`. */
export function login(...options: readonly never[]): Feature {
  refuseOptions("login", options);
  const feature: BuiltInFeature = { ...loginFeature(), routes: [metadataRoutes, ...loginRoutes] };
  return feature;
}

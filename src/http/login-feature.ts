// Owns the feature `login()` as a Worker's author imports it: who calls, and the metadata that tells clients where to log
// in. It is public, so pages of every origin may read it. A Worker without it has neither in its bundle.

import { documentOf } from "../content/serve/sources.ts";
import type { Deployment, Feature, FeatureRoutes } from "../deployment/deployment.ts";
import { pathBelow } from "../deployment/mount.ts";
import { loginFeature } from "../login/login.ts";
import { METADATA_PATH, metadataOf, protectedResourceAt } from "../login/protected-resource.ts";
import { failure, type Failure } from "../protocol/errors.ts";
import { isFailure } from "../protocol/methods/params.ts";
import { addressUnder, serve, type Endpoint } from "./app.ts";
import { hold, unknownTenant } from "./enter.ts";
import { tenantOfHost } from "./find-tenant.ts";
import { refusal } from "./limit-messages.ts";
import { respondFailure } from "./respond.ts";
import type { Env, Visit } from "./visit.ts";

/** Tokens of the authorization servers that a tenant names: `docs/login.md`. */
export function login(): Feature {
  return { ...loginFeature(), routes: metadataRoutes };
}

const PUBLIC = {
  "access-control-allow-origin": "*",
  "access-control-allow-headers": "*",
  "cache-control": "public, max-age=60",
};

const metadataRoutes: FeatureRoutes = {
  path: `${METADATA_PATH}/*`,
  onHostnames: true,
  open: (deployment) => async (request, env, ctx) => {
    if (request.method === "OPTIONS") return new Response(null, { status: 204, headers: PUBLIC });
    const owner = await tenantOfHost(env as unknown as Env, request.headers);
    const below = belowMetadata(request, deployment) || "/mcp";
    const [, first, second] = /^\/mcp(?:\/([^/]+)(?:\/([^/]+))?)?$/.exec(below) ?? [];
    const address = below.startsWith("/mcp") ? addressUnder(owner, deployment, first, second) : undefined;
    // Nothing of it is for one origin alone, so none is asked about.
    const headers = new Headers(request.headers);
    headers.delete("origin");
    const invocation = { request: new Request(request, { headers }), env: env as unknown as Env, ctx };
    return serve(deployment, invocation, address, metadataEndpoint(deployment, below));
  },
};

function belowMetadata({ url }: Request, { path }: Deployment): string {
  return pathBelow(path, new URL(url).pathname).slice(METADATA_PATH.length).replace(/\/+$/, "");
}

function metadataEndpoint(deployment: Deployment, below: string): Endpoint {
  const refuse = (visit: Visit, why: Failure) => respondFailure(visit.era, undefined, refusal(visit, why));
  return {
    post: async (visit) => refuse(visit, failure("methodNotAllowed", "Method not allowed: use GET")),
    other: async (visit) => {
      const { known, profile, credential } = visit.knock;
      const held = await hold(visit);
      if (isFailure(known) || isFailure(held)) return refuse(visit, isFailure(known) ? known : (held as Failure));
      const document = documentOf(known, held.policy);
      const isThere = profile === null || Object.hasOwn(document.profiles ?? {}, profile);
      if (!document.mode?.endsWith("oauth") || !document.auth || !isThere) {
        // As for a name that is no tenant's: whether there is one that takes keys is nobody's to learn.
        return refuse(visit, unknownTenant(visit, credential, document.mode === "key"));
      }
      const { origin } = new URL(visit.request.url);
      const metadata = metadataOf(document, protectedResourceAt(origin + deployment.path, below));
      return Response.json(metadata, { headers: PUBLIC });
    },
  };
}

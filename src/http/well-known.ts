// Owns the metadata that tells clients where to log in, in every place where they look for it. It is public, so pages of
// every origin may read it.

import type { Deployment, BuiltInRoutes } from "../deployment/deployment.ts";
import { METADATA_PATH, metadataOf, protectedResourceAt, restOf } from "../login/protected-resource.ts";
import { serverMetadata } from "../login/server/server-metadata.ts";
import { failure } from "../protocol/errors.ts";
import { isFailure } from "../protocol/methods/params.ts";
import { addressUnder, type Endpoint } from "./app.ts";
import { noEndpoint } from "./hold-tenant.ts";
import {
  askedAt,
  atTenant,
  openPlace,
  PUBLIC,
  refuseVisit,
  serveAnyone,
  urlsOf,
  withPublic,
  type AskedAt,
} from "./login-place.ts";
import type { Address, Visit } from "./visit.ts";

const HEADERS = { ...PUBLIC, "cache-control": "public, max-age=60" };

/** https://datatracker.ietf.org/doc/html/rfc8414#section-3, and as OpenID has it. */
const SERVER = /^\/\.well-known\/(?:oauth-authorization-server|openid-configuration)(?=\/|$)/;

export const metadataRoutes: BuiltInRoutes = {
  path: "/.well-known/*",
  onHostnames: true,
  open: (deployment) => async (request, env, ctx) => {
    if (request.method === "OPTIONS") return new Response(null, { status: 204, headers: HEADERS });
    const at = await askedAt(deployment, request, env);
    const [address, endpoint] = at.path.startsWith(METADATA_PATH)
      ? resourceAt(deployment, at, at.path.slice(METADATA_PATH.length) || "/mcp")
      : [serverAt(at), ""];
    return withPublic(await serveAnyone(deployment, { request, env, ctx }, address, metadataEndpoint(at, endpoint)));
  },
};

function resourceAt(
  deployment: Deployment,
  { owner }: AskedAt,
  below: string,
): readonly [Address | undefined, endpoint: string] {
  const [is, first, second] = /^\/mcp(?:\/([^/]+)(?:\/([^/]+))?)?$/.exec(below) ?? [];
  return [is === undefined ? undefined : addressUnder(owner, deployment, first, second), below];
}

function serverAt({ path, owner }: AskedAt): Address | undefined {
  const below = SERVER.test(path) ? path.replace(SERVER, "") : "-";
  const named = /^\/login\/([^/]+)$/.exec(below)?.[1];
  if (owner === null) return named === undefined ? undefined : atTenant(named);
  return below === "" ? atTenant(owner) : undefined;
}

/** `endpoint`: the path of the one that is asked about; empty: it is the tenant's authorization server itself. */
export function metadataEndpoint(at: AskedAt, endpoint: string): Endpoint {
  const answer = async (visit: Visit): Promise<Response> => {
    // Before the method: names of no tenant are counted, however somebody asks for them.
    const place = await openPlace(visit);
    if (isFailure(place)) return refuseVisit(visit, place);
    if (visit.request.method === "POST") {
      return refuseVisit(visit, failure("methodNotAllowed", "Method not allowed: use GET"));
    }
    const { document } = place;
    const { issuer } = urlsOf(visit, at);
    if (endpoint !== "") {
      const named = protectedResourceAt(at.base, endpoint, restOf(new URL(visit.request.url)));
      return Response.json(metadataOf(document, named, issuer), { headers: HEADERS });
    }
    if (!document.auth?.login) return refuseVisit(visit, noEndpoint(visit));
    return Response.json(serverMetadata(issuer, document), { headers: HEADERS });
  };
  return { post: answer, other: answer };
}

// The metadata that tells clients where to log in, at every URL where they look for it. It is public, so pages of every
// origin may read it.

import type { Deployment, BuiltInRoutes } from "../deployment/deployment.ts";
import { METADATA_PATH, createResourceMetadata, protectedResourceAt, urlSuffixOf } from "./protected-resource.ts";
import { serverMetadata } from "./server/server-metadata.ts";
import { failure } from "../protocol/errors.ts";
import { isFailure } from "../protocol/methods/params.ts";
import { parseTarget, type Endpoint } from "../endpoint/serve.ts";
import { noEndpoint } from "../endpoint/tenant-policy.ts";
import {
  parseLoginLocation,
  tenantTarget,
  getLoginTenant,
  PUBLIC_CORS,
  rejectLoginRequest,
  serveAnonymously,
  loginUrlsOf,
  withPublicCors,
  type LoginLocation,
} from "./login-location.ts";
import type { EndpointTarget, RequestContext } from "../endpoint/request-context.ts";

const METADATA_HEADERS = { ...PUBLIC_CORS, "cache-control": "public, max-age=60" };

/** https://datatracker.ietf.org/doc/html/rfc8414#section-3, and the location that OpenID uses. */
const SERVER_METADATA = /^\/\.well-known\/(?:oauth-authorization-server|openid-configuration)(?=\/|$)/;

export const metadataRoutes: BuiltInRoutes = {
  path: "/.well-known/*",
  onHostnames: true,
  open: (deployment) => async (request, env, ctx) => {
    if (request.method === "OPTIONS") return new Response(null, { status: 204, headers: METADATA_HEADERS });
    const location = await parseLoginLocation(deployment, request, env);
    const [target, endpoint] = location.path.startsWith(METADATA_PATH)
      ? resourceTarget(deployment, location, location.path.slice(METADATA_PATH.length) || "/mcp")
      : [serverTarget(location), ""];
    return withPublicCors(
      await serveAnonymously(deployment, { request, env, ctx }, target, metadataEndpoint(location, endpoint)),
    );
  },
};

function resourceTarget(
  deployment: Deployment,
  { hostnameTenant: owner }: LoginLocation,
  below: string,
): readonly [EndpointTarget | undefined, endpoint: string] {
  const [match, first, second] = /^\/mcp(?:\/([^/]+)(?:\/([^/]+))?)?$/.exec(below) ?? [];
  return [match === undefined ? undefined : parseTarget(owner, deployment, first, second), below];
}

function serverTarget({ path, hostnameTenant: owner }: LoginLocation): EndpointTarget | undefined {
  const below = SERVER_METADATA.test(path) ? path.replace(SERVER_METADATA, "") : "-";
  const tenant = /^\/login\/([^/]+)$/.exec(below)?.[1];
  if (owner === null) return tenant === undefined ? undefined : tenantTarget(tenant);
  return below === "" ? tenantTarget(owner) : undefined;
}

/**
 * `endpoint`: the path of the endpoint that the metadata describes; empty for the tenant's authorization server itself.
 */
export function metadataEndpoint(location: LoginLocation, endpoint: string): Endpoint {
  const answerMetadata = async (context: RequestContext): Promise<Response> => {
    // Checked before the method, so that requests for unknown tenants are counted whatever their method.
    const loginTenant = await getLoginTenant(context);
    if (isFailure(loginTenant)) return rejectLoginRequest(context, loginTenant);
    if (context.request.method === "POST") {
      return rejectLoginRequest(context, failure("methodNotAllowed", "Method not allowed: use GET"));
    }
    const { document } = loginTenant;
    const { issuer } = loginUrlsOf(context, location);
    if (endpoint !== "") {
      const resource = protectedResourceAt(location.base, endpoint, urlSuffixOf(new URL(context.request.url)));
      return Response.json(createResourceMetadata(document, resource, issuer), { headers: METADATA_HEADERS });
    }
    if (!document.auth?.login) return rejectLoginRequest(context, noEndpoint(context));
    return Response.json(serverMetadata(issuer, document), { headers: METADATA_HEADERS });
  };
  return { post: answerMetadata, nonPost: answerMetadata };
}

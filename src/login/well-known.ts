// The metadata that tells clients where to log in, at every URL where they look for it. It is public, so pages of every
// origin may read it.

import type { Deployment, BuiltInRoutes } from "../deployment/deployment.ts";
import { METADATA_PATH, createResourceMetadata, endpointUrlsAt, urlSuffixOf } from "./protected-resource.ts";
import { serverMetadata } from "./server/server-metadata.ts";
import { failure } from "../protocol/errors.ts";
import { isFailure } from "../protocol/methods/params.ts";
import type { TenantDocument } from "../tenants/document/tenant-document.ts";
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
    const { path } = location;
    const endpointPath = path.startsWith(METADATA_PATH) ? path.slice(METADATA_PATH.length) || "/mcp" : undefined;
    const [target, endpoint] =
      endpointPath === undefined
        ? [serverTarget(location), serverMetadataEndpoint(location)]
        : [resourceTarget(deployment, location, endpointPath), resourceMetadataEndpoint(location, endpointPath)];
    return withPublicCors(await serveAnonymously(deployment, { request, env, ctx }, target, endpoint));
  },
};

function resourceTarget(
  deployment: Deployment,
  { hostnameTenant: owner }: LoginLocation,
  endpointPath: string,
): EndpointTarget | undefined {
  const [match, first, second] = /^\/mcp(?:\/([^/]+)(?:\/([^/]+))?)?$/.exec(endpointPath) ?? [];
  return match === undefined ? undefined : parseTarget(owner, deployment, first, second);
}

function serverTarget({ path, hostnameTenant: owner }: LoginLocation): EndpointTarget | undefined {
  const below = SERVER_METADATA.test(path) ? path.replace(SERVER_METADATA, "") : "-";
  const tenant = /^\/login\/([^/]+)$/.exec(below)?.[1];
  if (owner === null) return tenant === undefined ? undefined : tenantTarget(tenant);
  return below === "" ? tenantTarget(owner) : undefined;
}

/** Answers with the metadata of the tenant's authorization server. */
export function serverMetadataEndpoint(location: LoginLocation): Endpoint {
  return metadataEndpoint(location, ({ document, issuer }) =>
    document.auth?.login ? serverMetadata(issuer, document) : undefined,
  );
}

/** Answers with the metadata of the MCP endpoint at a path, such as `/mcp/acme`. */
function resourceMetadataEndpoint(location: LoginLocation, endpointPath: string): Endpoint {
  return metadataEndpoint(location, ({ document, issuer, url }) =>
    createResourceMetadata(document, endpointUrlsAt(location.base, endpointPath, urlSuffixOf(new URL(url))), issuer),
  );
}

interface MetadataSubject {
  readonly document: TenantDocument;
  readonly issuer: string;
  /** The URL at which the metadata was requested. */
  readonly url: string;
}

/** `describe` returns undefined if there is nothing to describe. */
function metadataEndpoint(
  location: LoginLocation,
  describe: (subject: MetadataSubject) => object | undefined,
): Endpoint {
  const answerMetadata = async (context: RequestContext): Promise<Response> => {
    // Checked before the method, so that requests for unknown tenants are counted whatever their method.
    const loginTenant = await getLoginTenant(context);
    if (isFailure(loginTenant)) return rejectLoginRequest(context, loginTenant);
    if (context.request.method === "POST") {
      return rejectLoginRequest(context, failure("methodNotAllowed", "Method not allowed: use GET"));
    }
    const { document } = loginTenant;
    const { issuer } = loginUrlsOf(context, location);
    const metadata = describe({ document, issuer, url: context.request.url });
    return metadata
      ? Response.json(metadata, { headers: METADATA_HEADERS })
      : rejectLoginRequest(context, noEndpoint(context));
  };
  return { post: answerMetadata, nonPost: answerMetadata };
}

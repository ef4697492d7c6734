// The steps before a tenant's endpoint: host, hops, tenant, origin, HTTP method.

import { parseCredential, cacheKeyOf, type Credential } from "../auth/credential.ts";
import { isHostAllowed, isOriginAllowed } from "../auth/origin.ts";
import type { Deployment } from "../deployment/deployment.ts";
import { hopsOf, MAX_HOPS } from "../outbound/hops.ts";
import { failure, type Failure } from "../protocol/errors.ts";
import { isFailure } from "../protocol/methods/params.ts";
import { cancelBody } from "../streams/request-body.ts";
import { peekPolicy, type CachedPolicy } from "../tenants/cache/policy-cache.ts";
import { targetOfUser, authenticateWithApp, NO_TENANT } from "./authenticate-with-app.ts";
import { getMaxBodyBytes } from "./body.ts";
import { preflight } from "./cors.ts";
import { authorizeRequest } from "./authorize-request.ts";
import { findTenant } from "./find-tenant.ts";
import { getTenantPolicy, noEndpoint, unknownTenantFailure } from "./tenant-policy.ts";
import { countRefusal, checkBlockedAddress } from "./rate-limit.ts";
import { errorKeyOf } from "./respond.ts";
import { finishResponse } from "./finish-response.ts";
import { withTelemetry, RequestContext, type EndpointTarget, type Env, type Invocation } from "./request-context.ts";

/** `hostnameTenant`: the tenant that owns the requested hostname. */
export function parseTarget(
  hostnameTenant: string | null,
  { defaultTenant, authenticate }: Deployment,
  first: string | undefined,
  second: string | undefined,
): EndpointTarget | undefined {
  // On a tenant's own hostname, profiles are under /mcp, and no other tenant can be named.
  if (hostnameTenant !== null) {
    return second === undefined
      ? { tenant: hostnameTenant, profile: first ?? null, path: pathOf(first), isOwnHostname: true }
      : undefined;
  }
  // An app's `authenticate` may choose the tenant.
  const tenant = first ?? defaultTenant ?? (authenticate && NO_TENANT.tenant);
  if (tenant === undefined) return undefined;
  return { tenant, profile: second ?? null, path: pathOf(tenant, second), isDefaultTenant: first === undefined };
}

function pathOf(first: string | undefined, second?: string): string {
  if (first === undefined) return "";
  return second === undefined ? `/${first}` : `/${first}/${second}`;
}

function checkHostAndHops({ headers }: Request, env: Env, hops: number): Failure | undefined {
  if (!isHostAllowed(headers, env)) return failure("forbiddenHost");
  // A tool that calls one of our own URLs may call itself.
  if (hops <= MAX_HOPS) return undefined;
  const loopMessage = `Refused: the request went through ${MAX_HOPS} Workers, which looks like a loop of tools that call each other`;
  return failure("invalidRequest", loopMessage);
}

/** The handlers of the HTTP methods, after the checks of host, tenant and origin. */
export interface Endpoint {
  post(context: RequestContext, maxBodyBytes: number): Promise<Response>;
  nonPost(context: RequestContext): Promise<Response | Failure>;
}

/** Like `serve`, but first asks the mounting app's `authenticate` for its user. */
export async function serveWithAppUser(
  deployment: Deployment,
  invocation: Invocation,
  target: EndpointTarget | undefined,
  endpoint: Endpoint,
): Promise<Response> {
  const { request, env } = invocation;
  const isAuthenticatedByApp = deployment.authenticate && target && request.method !== "OPTIONS";
  if (!isAuthenticatedByApp || !isHostAllowed(request.headers, env))
    return serve(deployment, invocation, target, endpoint);
  // Anything that the app reads from the request may be a credential, so the connection must be secure.
  const insecure = transportErrorOf(deployment, request);
  if (insecure) return finishResponse(deployment, request, insecure);
  const result = await authenticateWithApp(deployment, invocation);
  if (result === undefined) return serve(deployment, invocation, target, endpoint);
  if (!(result instanceof Response)) {
    return serve(deployment, { ...invocation, user: result }, targetOfUser(result, target), endpoint);
  }
  cancelBody(request);
  // If the Worker's origin list allows the origin for every tenant, the tenant is not even looked up.
  const isOriginListed = isOriginAllowed(request.headers.get("origin"), env);
  const send = async () => result;
  return serve(deployment, invocation, isOriginListed ? NO_TENANT : target, { post: send, nonPost: send });
}

export async function serve(
  deployment: Deployment,
  invocation: Invocation,
  target: EndpointTarget | undefined,
  endpoint: Endpoint,
): Promise<Response> {
  const instrumented = withTelemetry(deployment, invocation);
  const { request, telemetry } = instrumented;
  let response: Response;
  try {
    const admitted = await admitRequest(deployment, instrumented, target);
    const answer = admitted instanceof RequestContext ? await callEndpoint(endpoint, admitted) : admitted;
    response = finishResponse(deployment, request, answer, isFailure(admitted) ? null : request.headers.get("origin"));
  } catch (error) {
    telemetry?.recordResponse(undefined, "unavailable");
    throw error;
  }
  telemetry?.recordResponse(response, errorKeyOf(response));
  return response;
}

/** Resolves to the context of a request that the endpoint may answer, or to what answers it without the endpoint. */
async function admitRequest(
  deployment: Deployment,
  invocation: Invocation,
  target: EndpointTarget | undefined,
): Promise<RequestContext | Response | Failure> {
  const { request, env } = invocation;
  const { headers } = request;
  // 1. The host, before anything else.
  const rejection = checkHostAndHops(request, env, hopsOf(headers));
  if (rejection) return rejection;
  if (!target) return pathNotFound(deployment, request);
  const origin = headers.get("origin");
  const isOriginListed = isOriginAllowed(origin, env);
  // The same preflight response for every name and origin, so that it reveals none of them; the actual request is
  // rejected afterwards.
  if (request.method === "OPTIONS") {
    cancelBody(request);
    return preflight(headers.get("access-control-request-headers"));
  }
  // 2. The tenant. Nothing is stored for an unknown name.
  const { tenant: id, profile, path, isOwnHostname: isHosted } = target;
  const credential = credentialFrom(invocation);
  const earlyRejection = rejectEarly(deployment, id, credential, request);
  if (earlyRejection) return earlyRejection;
  const tenantResult =
    (await findTenant(env, deployment, id)) ?? unknownTenantFailure({ request, deployment }, id, credential);
  const context = new RequestContext(deployment, invocation, {
    tenant: id,
    profile,
    path,
    isOwnHostname: isHosted,
    credential,
    tenantResult,
  });
  // 3. The origin; a tenant may allow more origins.
  if (!isOriginListed && !(await isOriginAllowedByTenant(context, origin))) {
    return countRefusal(context, failure("forbiddenOrigin"));
  }
  return context;
}

function credentialFrom({ request, user }: Invocation): Credential {
  return user ? { kind: "app", user } : parseCredential(request.headers.get("authorization"));
}

async function callEndpoint(endpoint: Endpoint, context: RequestContext): Promise<Response | Failure> {
  const { request, env } = context;
  if (request.method === "POST") return endpoint.post(context, getMaxBodyBytes(env));
  cancelBody(request);
  return endpoint.nonPost(context);
}

function transportErrorOf({ features }: Deployment, request: Request): Failure | undefined {
  return features.find((one) => one.transportError)?.transportError?.(request);
}

/**
 * A failure rejects the request before the directory or a tenant object is asked: the address had too many rejections,
 * or the connection is not secure.
 */
function rejectEarly(
  deployment: Deployment,
  id: string,
  credential: Credential,
  request: Request,
): Failure | undefined {
  // An eavesdropper must not learn from the response whether the credential was valid.
  const transportError = credential.kind === "none" ? undefined : transportErrorOf(deployment, request);
  if (transportError) return transportError;
  const cacheKey = cacheKeyOf(credential);
  const cachedPolicy = peekPolicy(id);
  const mayExist =
    cacheKey === undefined
      ? mayAdmitWithoutKey(deployment, id, cachedPolicy, credential)
      : (cachedPolicy?.keys.get(cacheKey) ?? null) !== null;
  return mayExist ? undefined : checkBlockedAddress(deployment, request);
}

/**
 * Whether a request without a cached key may be authorized. If a tenant accepts only keys, a request without one is
 * rejected anyway; asking its tenant object would reveal that the tenant exists.
 */
function mayAdmitWithoutKey(
  { tenants, tenantResolver }: Deployment,
  id: string,
  cachedPolicy: CachedPolicy | undefined,
  { kind }: Credential,
): boolean {
  const declaredTenant = tenants.get(id) ?? (cachedPolicy && tenantResolver?.peek(id));
  if (!cachedPolicy && !declaredTenant) return false;
  return (
    kind === "app" ||
    (cachedPolicy?.policy.document.mode ?? (declaredTenant ? declaredTenant.base.mode : "key")) !== "key"
  );
}

/**
 * Also true if a private tenant rejects the credential: then the response equals that for an unknown name, with any
 * origin.
 */
async function isOriginAllowedByTenant(context: RequestContext, origin: string | null): Promise<boolean> {
  const { request, deployment } = context;
  if (origin !== null && deployment.pages?.isOwnOrigin(request, origin)) return true;
  const cachedPolicy = await getTenantPolicy(context);
  if (isFailure(cachedPolicy)) return cachedPolicy.error !== "unknownTenant";
  const { mode, allowedOrigins } = cachedPolicy.policy.document;
  if (allowedOrigins?.some((allowed) => allowed === origin) === true) return true;
  return mode === "key" && isFailure(await authorizeRequest(context));
}

/** The failure for a path at which there is no endpoint. */
export function pathNotFound(deployment: Deployment, request: Request): Failure {
  // A client that was rejected without a login hint tries to register. This response is the last message that its user
  // sees.
  const isRegistering = request.method === "POST" && new URL(request.url).pathname === "/register";
  return isRegistering
    ? failure("unknownTenant", "Not found: clients cannot register here. The API key is wrong or missing")
    : noEndpoint({ request, deployment });
}

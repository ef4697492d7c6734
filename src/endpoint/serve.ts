// The steps before the endpoint of a tenant: host, hops, tenant, origin, HTTP method.

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
import { preflight, withOrigin } from "./cors.ts";
import { authorizeRequest } from "./authorize-request.ts";
import { findTenant } from "./find-tenant.ts";
import { getTenantPolicy, noEndpoint, unknownTenantFailure } from "./tenant-policy.ts";
import { toRejection, checkBlockedAddress } from "./rate-limit.ts";
import { eraOf, errorKeyOf, respondFailure, copyErrorKey } from "./respond.ts";
import { withTelemetry, RequestContext, type EndpointTarget, type Env, type Invocation } from "./request-context.ts";

/** `owner`: the tenant whose hostname was asked. */
export function parseTarget(
  hostnameTenant: string | null,
  { defaultTenant, authenticate }: Deployment,
  first: string | undefined,
  second: string | undefined,
): EndpointTarget | undefined {
  // On a hostname of its own a tenant has profiles under /mcp, and no other tenant can be named.
  if (hostnameTenant !== null) {
    return second === undefined
      ? { tenant: hostnameTenant, profile: first ?? null, path: pathOf(first), isOwnHostname: true }
      : undefined;
  }
  // An app may say which tenant is meant.
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
  // A tool that calls our own URLs may call itself.
  if (hops <= MAX_HOPS) return undefined;
  const loopMessage = `Refused: the request went through ${MAX_HOPS} Workers, which looks like a circle of tools`;
  return failure("invalidRequest", loopMessage);
}

/** What is done with the methods of HTTP, once it is known that the tenant may be asked for. */
export interface Endpoint {
  post(context: RequestContext, maxBodyBytes: number): Promise<Response>;
  nonPost(context: RequestContext): Promise<Response>;
}

/** The same where whoever calls may be one whom the app knows that mounts the Worker: it is asked first. */
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
  // What the app reads of it is a credential, wherever it stands.
  const insecure = transportErrorOf(deployment, request);
  if (insecure) return rejectRequest(deployment, request, insecure);
  const result = await authenticateWithApp(deployment, invocation);
  if (result === undefined) return serve(deployment, invocation, target, endpoint);
  if (!(result instanceof Response)) {
    return serve(deployment, { ...invocation, user: result }, targetOfUser(result, target), endpoint);
  }
  cancelBody(request);
  // Where the Worker lets every tenant's pages ask, the tenant is not even looked for.
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
  if (!deployment.observe) return serveTenant(deployment, invocation, target, endpoint);
  const instrumented = withTelemetry(deployment, invocation);
  let response: Response;
  try {
    response = await serveTenant(deployment, instrumented, target, endpoint);
  } catch (error) {
    instrumented.telemetry?.recordResponse(undefined, "unavailable");
    throw error;
  }
  instrumented.telemetry?.recordResponse(response, errorKeyOf(response));
  return response;
}

async function serveTenant(
  deployment: Deployment,
  invocation: Invocation,
  target: EndpointTarget | undefined,
  endpoint: Endpoint,
): Promise<Response> {
  const { request, env } = invocation;
  const { headers } = request;
  // 1. Hosts, before anything is looked at.
  const rejection = checkHostAndHops(request, env, hopsOf(headers));
  if (rejection) return rejectRequest(deployment, request, rejection);
  if (!target) return respondNotFound(deployment, request);
  const origin = headers.get("origin");
  const isOriginListed = isOriginAllowed(origin, env);
  // The same for every name and origin, so that it tells of none: what is asked afterwards is refused.
  if (request.method === "OPTIONS") {
    cancelBody(request);
    return preflight(origin, headers.get("access-control-request-headers"));
  }
  // 2. The tenant; for an unknown name nothing is stored.
  const { tenant: id, profile, path, isOwnHostname: isHosted } = target;
  const credential = credentialFrom(invocation);
  const earlyRejection = rejectEarly(deployment, id, credential, request);
  if (earlyRejection) return rejectRequest(deployment, request, earlyRejection);
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
  // 3. Origins, which a tenant may add to.
  if (!isOriginListed && !(await isOriginAllowedByTenant(context, origin))) {
    return rejectRequest(deployment, request, toRejection(context, failure("forbiddenOrigin")));
  }
  // 4. The method.
  const response = await callEndpoint(endpoint, context);
  return withOrigin(response, origin);
}

function credentialFrom({ request, user }: Invocation): Credential {
  return user ? { kind: "app", user } : parseCredential(request.headers.get("authorization"));
}

async function callEndpoint(endpoint: Endpoint, context: RequestContext): Promise<Response> {
  const { request, env } = context;
  if (request.method === "POST") return endpoint.post(context, getMaxBodyBytes(env));
  cancelBody(request);
  return endpoint.nonPost(context);
}

function transportErrorOf({ features }: Deployment, request: Request): Failure | undefined {
  return features.find((one) => one.transportError)?.transportError?.(request);
}

/** A failure: neither the directory nor an authority is asked who this is: too many were refused there, or others listen. */
function rejectEarly(
  deployment: Deployment,
  id: string,
  credential: Credential,
  request: Request,
): Failure | undefined {
  // Whoever listens must not learn from the answer what the credential was worth.
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

/** Where only keys are let in, who brings none is refused anyway: asked about, it would be seen that there is such a tenant. */
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

/** Also true where a private tenant refuses the credential: that answer is the one of an unknown name, with any origin. */
async function isOriginAllowedByTenant(context: RequestContext, origin: string | null): Promise<boolean> {
  const { request, deployment } = context;
  if (origin !== null && deployment.pages?.isOwnOrigin(request, origin)) return true;
  const snapshot = await getTenantPolicy(context);
  if (isFailure(snapshot)) return snapshot.error !== "unknownTenant";
  const { mode, allowedOrigins } = snapshot.policy.document;
  if (allowedOrigins?.some((allowed) => allowed === origin) === true) return true;
  return mode === "key" && isFailure(await authorizeRequest(context));
}

export function respondNotFound(deployment: Deployment, request: Request): Response {
  // A client that was refused, and told of no login, tries to register: what stands here is the last that its person reads.
  const isRegistering = request.method === "POST" && new URL(request.url).pathname === "/register";
  const unknown = isRegistering
    ? failure("unknownTenant", "Not found: no client registers here. The key is wrong, or is missing")
    : noEndpoint({ request, deployment });
  return rejectRequest(deployment, request, unknown);
}

/** Refuses what was not read. */
export function rejectRequest(deployment: Deployment, request: Request, reason: Failure): Response {
  cancelBody(request);
  return reject(deployment, request, reason);
}

export function reject({ pages, path }: Deployment, request: Request, reason: Failure): Response {
  const rejection = respondFailure(eraOf(request), undefined, reason);
  return pages && isBrowserNavigation(request)
    ? copyErrorKey(rejection, pages.renderRejection(request, path, rejection, reason))
    : rejection;
}

/** Whether it comes from a browser's address bar. */
export function isBrowserNavigation({ method, headers }: Request): boolean {
  return (method === "GET" || method === "HEAD") && (headers.get("accept") ?? "").toLowerCase().includes("text/html");
}

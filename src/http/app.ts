// Owns the Hono app: the routes, the steps before the endpoint in this order, and the last catch.

import type { Context } from "hono";
import { Hono } from "hono/tiny";
import { parseCredential, cacheKeyOf, type Credential } from "../auth/credential.ts";
import { isHostAllowed, isOriginAllowed } from "../auth/origin.ts";
import type { Bindings, Deployment, BuiltInRoutes } from "../deployment/deployment.ts";
import { hopsOf, MAX_HOPS } from "../outbound/hops.ts";
import { failure, type Failure } from "../protocol/errors.ts";
import { isFailure } from "../protocol/methods/params.ts";
import { cancelBody } from "../streams/request-body.ts";
import { UNRELEASED } from "../tenants/authority/incarnation.ts";
import { isUnreleased } from "../tenants/isolate/asked-again.ts";
import { peekPolicy, type CachedPolicy } from "../tenants/isolate/snapshot.ts";
import { getMaxBodyBytes } from "./body.ts";
import { authorizeRequest } from "./enter.ts";
import type { AuthorizedRequest } from "./entered.ts";
import { getTenantPolicy, noEndpoint, unknownTenantFailure } from "./hold-tenant.ts";
import { jitteredRetryAfter } from "./on-error.ts";
import { answerStreamRequest } from "./era-2025/streams.ts";
import { findTenant, tenantOfHost } from "./find-tenant.ts";
import { rateLimit, toRejection, checkBlockedAddress, firstRejection } from "./limit-messages.ts";
import { handleBody, handlePost } from "./mcp.ts";
import { stripMountPath } from "../deployment/mount.ts";
import { requestIdOf } from "../telemetry/request-id.ts";
import { preflight, withOrigin } from "./cors.ts";
import { targetOfUser, authenticateWithApp, NO_TENANT } from "./ask-app.ts";
import { checkReadiness } from "./readiness.ts";
import { eraOf, NO_STORE, errorKeyOf, respondFailure, copyErrorKey } from "./respond.ts";
import { withTelemetry, RequestContext, type EndpointTarget, type Env, type Invocation } from "./visit.ts";

interface AppEnv {
  Bindings: Env;
}

type App = Hono<AppEnv>;
type HonoContext = Context<AppEnv>;

export function createApp(deployment: Deployment): App {
  const { hooks, catalog, path } = deployment;
  // Hono's tiny router already ignores one slash at the end; `strict: false` would take off another one before it.
  const app = new Hono<AppEnv>(
    path === "" ? {} : { getPath: (request) => stripMountPath(path, new URL(request.url).pathname) },
  );
  app.onError((error, c) => {
    // The message was not read, so there is no id to answer: an HTTP status says that the client may try again.
    const data = { requestId: requestIdOf(c.req.raw) };
    hooks.onError?.(error, undefined, { method: c.req.method, ...data });
    const message = isUnreleased(error) ? UNRELEASED : undefined;
    const failureToSend = { ...failure("unavailable", message, data), retryAfter: jitteredRetryAfter() };
    return rejectRequest(deployment, c.req.raw, failureToSend);
  });
  const { name, version } = catalog.server;
  app.get("/healthz", () => Response.json({ status: "ok", name, version }, { headers: NO_STORE }));
  app.get("/readyz", async (c) => {
    try {
      await checkReadiness(c.env);
    } catch (error) {
      hooks.onError?.(error, undefined);
      return Response.json({ status: "unavailable" }, { status: 503, headers: NO_STORE });
    }
    return Response.json({ status: "ready" }, { headers: NO_STORE });
  });
  for (const routes of deployment.features.flatMap((one) => one.routes ?? [])) addRoutes(app, deployment, routes);
  app.all("/mcp/:first?/:second?", async (c) => {
    const target = await resolveTarget(deployment, c, c.req.param("first"), c.req.param("second"));
    return serveWithAppUser(deployment, invocationOf(c), target, MCP);
  });
  app.get("/", async (c) => {
    const target = await resolveTarget(deployment, c);
    return serveWithAppUser(deployment, invocationOf(c), isBrowserNavigation(c.req.raw) ? target : undefined, MCP);
  });
  app.notFound((c) => respondNotFound(deployment, c.req.raw));
  return app;
}

function invocationOf(c: HonoContext): Invocation {
  return { request: c.req.raw, env: c.env, ctx: c.executionCtx };
}

/** Adds the routes of a feature, but not on a tenant's own hostname, which is for its endpoint alone. */
function addRoutes(app: App, deployment: Deployment, routes: BuiltInRoutes): void {
  let handler: ReturnType<BuiltInRoutes["open"]> | undefined;
  app.all(routes.path, async (c) => {
    const { headers } = c.req.raw;
    if (!isHostAllowed(headers, c.env) || (!routes.onHostnames && (await tenantOfHost(c.env, headers)) !== null)) {
      return respondNotFound(deployment, c.req.raw);
    }
    handler ??= routes.open(deployment);
    return handler(c.req.raw, c.env as unknown as Bindings, c.executionCtx as ExecutionContext);
  });
}

/** undefined: no tenant is named. */
async function resolveTarget(
  deployment: Deployment,
  c: HonoContext,
  first?: string,
  second?: string,
): Promise<EndpointTarget | undefined> {
  return parseTarget(await tenantOfHost(c.env, c.req.raw.headers), deployment, first, second);
}

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

const MCP: Endpoint = {
  post: (context, maxBytes) => handlePost(context, maxBytes, handleBody),
  nonPost: answerNonPost,
};

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

function respondNotFound(deployment: Deployment, request: Request): Response {
  // A client that was refused, and told of no login, tries to register: what stands here is the last that its person reads.
  const isRegistering = request.method === "POST" && new URL(request.url).pathname === "/register";
  const unknown = isRegistering
    ? failure("unknownTenant", "Not found: no client registers here. The key is wrong, or is missing")
    : noEndpoint({ request, deployment });
  return rejectRequest(deployment, request, unknown);
}

/** Refuses what was not read. */
function rejectRequest(deployment: Deployment, request: Request, reason: Failure): Response {
  cancelBody(request);
  return reject(deployment, request, reason);
}

function reject({ pages, path }: Deployment, request: Request, reason: Failure): Response {
  const rejection = respondFailure(eraOf(request), undefined, reason);
  return pages && isBrowserNavigation(request)
    ? copyErrorKey(rejection, pages.renderRejection(request, path, rejection, reason))
    : rejection;
}

/** Whether it comes from a browser's address bar. */
function isBrowserNavigation({ method, headers }: Request): boolean {
  return (method === "GET" || method === "HEAD") && (headers.get("accept") ?? "").toLowerCase().includes("text/html");
}

async function answerNonPost(context: RequestContext): Promise<Response> {
  const { request, deployment } = context;
  const authorized = await authorizeRequest(context);
  if (isFailure(authorized)) return reject(deployment, request, toRejection(context, authorized));
  const limitFailure = firstRejection(await rateLimit(authorized, undefined));
  if (limitFailure) return reject(deployment, request, limitFailure);
  return isBrowserNavigation(request) ? landingPage(authorized) : answerStreamRequest(authorized, eraOf(request));
}

function landingPage({ context, tenant, view, document: { mode = "open" } }: AuthorizedRequest): Response {
  const { request, deployment, target } = context;
  const { pages, path: mount } = deployment;
  const { path, profile } = target;
  if (pages) return pages.renderEndpoint(request, mount, { tenant, profile, path, mode, view });
  const { name, title = name } = view.server;
  const text = `${title}: an MCP server. Its address, for MCP clients:\n\n${new URL(request.url).origin}${mount}/mcp${path}\n`;
  return new Response(text, { headers: { vary: "Accept", ...NO_STORE } });
}

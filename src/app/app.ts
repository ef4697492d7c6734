import type { Context } from "hono";
import { Hono } from "hono/tiny";
import { isHostAllowed } from "../auth/origin.ts";
import type { UntypedEnv, Deployment, BuiltInRoutes } from "../deployment/deployment.ts";
import { stripMountPath } from "../deployment/mount.ts";
import { failure, type Failure } from "../protocol/errors.ts";
import { isFailure } from "../protocol/methods/params.ts";
import { requestIdOf } from "../telemetry/request-id.ts";
import { UNRELEASED } from "../tenants/object/tenant-uid.ts";
import { isUnreleased } from "../tenants/cache/retry-if-idempotent.ts";
import { authorizeRequest } from "../endpoint/authorize-request.ts";
import type { AuthorizedRequest } from "../endpoint/authorized-request.ts";
import { answerStreamRequest } from "../endpoint/era-2025/stream-requests.ts";
import { tenantOfHost } from "../endpoint/find-tenant.ts";
import { firstRejection, rateLimit, countRefusal } from "../endpoint/rate-limit.ts";
import { handleBody, handlePost } from "../endpoint/mcp.ts";
import { jitteredRetryAfter } from "../endpoint/failure-of-error.ts";
import { checkReadiness } from "./readiness.ts";
import { finishResponse, isBrowserNavigation } from "../endpoint/finish-response.ts";
import { eraOf, NO_STORE } from "../endpoint/respond.ts";
import { parseTarget, pathNotFound, serveWithAppUser, type Endpoint } from "../endpoint/serve.ts";
import type { EndpointTarget, Env, Invocation, RequestContext } from "../endpoint/request-context.ts";

interface AppEnv {
  Bindings: Env;
}

type App = Hono<AppEnv>;
type HonoContext = Context<AppEnv>;

export function createApp(deployment: Deployment): App {
  const { hooks, catalog, path } = deployment;
  // Hono's tiny router already ignores one trailing slash; `strict: false` would ignore a second one.
  const app = new Hono<AppEnv>(
    path === "" ? {} : { getPath: (request) => stripMountPath(path, new URL(request.url).pathname) },
  );
  app.onError((error, c) => {
    // The message was not read, so there is no request id for a JSON-RPC error. The HTTP status tells the client to
    // retry.
    const data = { requestId: requestIdOf(c.req.raw) };
    hooks.onError?.(error, undefined, { method: c.req.method, ...data });
    const message = isUnreleased(error) ? UNRELEASED : undefined;
    const failureToSend = { ...failure("unavailable", message, data), retryAfter: jitteredRetryAfter() };
    return finishResponse(deployment, c.req.raw, failureToSend);
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
  app.notFound((c) => finishResponse(deployment, c.req.raw, pathNotFound(deployment, c.req.raw)));
  return app;
}

function invocationOf(c: HonoContext): Invocation {
  return { request: c.req.raw, env: c.env, ctx: c.executionCtx };
}

/**
 * Adds the routes of a feature. A tenant's own hostname serves only its endpoint, unless the route sets `onHostnames`.
 */
function addRoutes(app: App, deployment: Deployment, routes: BuiltInRoutes): void {
  let handler: ReturnType<BuiltInRoutes["open"]> | undefined;
  app.all(routes.path, async (c) => {
    const { headers } = c.req.raw;
    if (!isHostAllowed(headers, c.env) || (!routes.onHostnames && (await tenantOfHost(c.env, headers)) !== null)) {
      return finishResponse(deployment, c.req.raw, pathNotFound(deployment, c.req.raw));
    }
    handler ??= routes.open(deployment);
    return handler(c.req.raw, c.env as unknown as UntypedEnv, c.executionCtx as ExecutionContext);
  });
}

/** Returns undefined if the request names no tenant. */
async function resolveTarget(
  deployment: Deployment,
  c: HonoContext,
  first?: string,
  second?: string,
): Promise<EndpointTarget | undefined> {
  return parseTarget(await tenantOfHost(c.env, c.req.raw.headers), deployment, first, second);
}

const MCP: Endpoint = {
  post: (context, maxBytes) => handlePost(context, maxBytes, handleBody),
  nonPost: answerNonPost,
};

async function answerNonPost(context: RequestContext): Promise<Response | Failure> {
  const { request } = context;
  const authorized = await authorizeRequest(context);
  if (isFailure(authorized)) return countRefusal(context, authorized);
  const limitFailure = firstRejection(await rateLimit(authorized, undefined));
  if (limitFailure) return limitFailure;
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

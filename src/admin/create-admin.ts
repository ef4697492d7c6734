// The admin API as a Hono app below /admin: the steps before a route in their order, and the one error handler.

import type { Context } from "hono";
import { Hono } from "hono/tiny";
import { stripMountPath } from "../deployment/mount.ts";
import { cancelBody } from "../streams/request-body.ts";
import { isTenantId } from "../tenants/document/tenant-definition.ts";
import type { Infer } from "../handlers/schema.ts";
import type { OperatorClientShape } from "./contract.ts";
import { resolveTenant } from "./services/tenant-handle.ts";
import { authenticateTenantKey } from "./tenant-key-auth.ts";
import { authenticateOperator, authorizeRoute, operatorSignInOf } from "./operator-auth.ts";
import { describeRoutes } from "./openapi.ts";
import { createOwnerTokenWarning } from "./owner-tokens.ts";
import { BodyRejected, notFound, ProblemError, respondProblem } from "./problem.ts";
import type { AdminEnv, AdminOptions, Route } from "./route.ts";
import { ROUTES } from "./routes/all-routes.ts";

interface Bindings {
  Bindings: AdminEnv;
}

export function createAdmin(options: AdminOptions): Hono<Bindings> {
  const { path = "" } = options;
  const mountOptions =
    path === "" ? {} : { getPath: (request: Request) => stripMountPath(path, new URL(request.url).pathname) };
  const app = new Hono<Bindings>(mountOptions).basePath("/admin");
  const warnAboutOwnerToken = createOwnerTokenWarning(options.onError);
  let description: string | undefined;
  app.onError((error, c) => {
    cancelBody(c.req.raw);
    const response = respondProblem(error, c.req.raw, (unknown, place) => options.onError?.(unknown, place));
    return withHeaders(options, c, response);
  });
  // 1. The Origin check, before anything else.
  app.use(async (c, next) => {
    warnAboutOwnerToken(c.env);
    if (allowedOriginOf(options, c) === false) throw new ProblemError("forbidden-origin");
    if (c.req.method === "OPTIONS") return withHeaders(options, c, new Response(null, { status: 204, headers: CORS }));
    await next();
    return undefined;
  });
  app.get("/openapi.json", (c) => {
    description ??= JSON.stringify(describeRoutes(ROUTES, options.catalog.server.version, path));
    const headers = { "content-type": "application/json", "cache-control": "public, max-age=300" };
    return withHeaders(options, c, new Response(description, { headers }));
  });
  // The settings that a program needs to sign an operator in. They are public.
  app.get("/login", (c) => {
    const operatorSignIn = operatorSignInOf(options, c.env);
    const client = operatorSignIn?.signIn.client(operatorSignIn.context);
    if (!client) throw notFound("sign-in: operators have tokens here");
    return withHeaders(options, c, Response.json(client satisfies Infer<typeof OperatorClientShape>));
  });
  for (const route of ROUTES) {
    app.on(route.method, `/v1${route.path.replaceAll(/\{(\w+)\}/g, ":$1")}`, (c) => serveRoute(options, route, c));
  }
  app.all("*", async (c) => {
    // A caller without a token must not learn which routes exist.
    await authenticateOperator(c.req.raw, { env: c.env, options });
    throw unknownRouteProblem(c.req.method, c.req.path);
  });
  return app;
}

async function serveRoute(options: AdminOptions, route: Route, c: Context<Bindings>): Promise<Response> {
  const { raw: request } = c.req;
  const params: Readonly<Record<string, string>> = c.req.param();
  // 2. Authenticate and authorize the caller.
  const services = { env: c.env, options };
  const { id = "" } = params;
  const authenticateCaller = async () => {
    if (route.isForKeys) return authenticateTenantKey(request, services, id);
    const operator = await authenticateOperator(request, services);
    authorizeRoute(operator, route, params);
    return operator;
  };
  const caller = await authenticateCaller();
  // 3. Resolve the tenant before the body arrives: another tenant may have the name by the time it has.
  const resolvedTenant =
    route.path.startsWith("/tenants/{id}") && isTenantId(id) ? resolveTenant(services, id) : undefined;
  // The route awaits this promise and handles its rejection.
  resolvedTenant?.catch(() => {});
  // 4. Authenticate again once the body has arrived: the caller may have lost access meanwhile.
  const reauthorize = async () => {
    // Wait only for the end. The route reports the error.
    await resolvedTenant?.catch(() => {});
    await authenticateCaller();
  };
  const hasBody = route.body !== undefined && request.body !== null;
  if (!hasBody && (route.method !== "GET" || caller.tenants)) await reauthorize();
  const checkedRequest = hasBody ? withFinalCheck(request, reauthorize) : request;
  try {
    return withHeaders(
      options,
      c,
      await route.serve({ ...services, caller, request: checkedRequest, resolvedTenant }, params),
    );
  } finally {
    cancelBody(checkedRequest);
  }
}

/** Delivers the end of the body only if `check` passes: the sender decides how long the body takes. */
function withFinalCheck(request: Request, check: () => Promise<void>): Request {
  const flush = async () =>
    check().catch((error: unknown) => {
      throw new BodyRejected(error);
    });
  const checkedBody = new TransformStream<Uint8Array, Uint8Array>({ flush });
  const { method, headers } = request;
  return new Request(request.url, { method, headers, body: request.body?.pipeThrough(checkedBody) ?? null });
}

/** 405 for a path that exists with another method, otherwise 404. */
function unknownRouteProblem(method: string, path: string): ProblemError {
  const mountOptions = path.replace(/^.*?\/v1(?=\/)/, "").replace(/\/$/, "");
  const allowed = ROUTES.filter((route) => patternOf(route.path).test(mountOptions)).map((route) => route.method);
  if (allowed.length === 0) return notFound(`route ${path.slice(0, 200)}`);
  const allow = allowed.join(", ");
  return new ProblemError("method-not-allowed", { detail: `${method} is not ${allow}`, headers: { allow } });
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replaceAll(/\{\w+\}/g, "[^/]+")}$`);
}

const CORS = {
  "access-control-allow-methods": "GET, POST, PUT, DELETE",
  "access-control-allow-headers": "authorization, content-type, if-match, if-none-match",
  "access-control-max-age": "86400",
};

/**
 * The Origin of a page that may call. undefined: the request has no Origin header. false: the Origin is not allowed.
 */
function allowedOriginOf(options: AdminOptions, c: Context<Bindings>): string | false | undefined {
  const origin = c.req.header("origin");
  if (origin === undefined) return undefined;
  return (options.originAllowed?.(origin, c.env) ?? false) && origin;
}

/** Keeps answers out of caches, and adds CORS headers for an allowed Origin. */
function withHeaders(options: AdminOptions, c: Context<Bindings>, response: Response): Response {
  const { headers } = response;
  if (!headers.has("cache-control")) headers.set("cache-control", "no-store");
  const origin = allowedOriginOf(options, c);
  if (origin === undefined || origin === false) return response;
  headers.set("access-control-allow-origin", origin);
  headers.set("access-control-expose-headers", "etag, location, retry-after");
  headers.append("vary", "Origin");
  return response;
}

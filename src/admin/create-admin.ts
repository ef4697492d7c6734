// Owns the admin API as a Hono app below /admin: the steps before a route, in this order, and the one catch.

import type { Context } from "hono";
import { Hono } from "hono/tiny";
import { pathBelow } from "../deployment/mount.ts";
import { giveUpBody } from "../streams/request-body.ts";
import { isTenantId } from "../tenants/document/tenant-definition.ts";
import type { Infer } from "../calls/schema.ts";
import type { OperatorClientShape } from "./contract.ts";
import { meetTenant } from "./apply/tenant-access.ts";
import { authenticateKey } from "./key-login.ts";
import { authenticate, authorize, signInOf } from "./operator-login.ts";
import { describe } from "./openapi.ts";
import { ownerTokenTeller } from "./owner-tokens.ts";
import { BodyRefused, notFound, ProblemError, respondProblem } from "./problem.ts";
import type { AdminEnv, AdminOptions, Route } from "./route.ts";
import { ROUTES } from "./routes/all-routes.ts";

interface Bindings {
  Bindings: AdminEnv;
}

export function createAdmin(options: AdminOptions): Hono<Bindings> {
  const { path = "" } = options;
  const below = path === "" ? {} : { getPath: (request: Request) => pathBelow(path, new URL(request.url).pathname) };
  const app = new Hono<Bindings>(below).basePath("/admin");
  const tellOwner = ownerTokenTeller(options.onError);
  let description: string | undefined;
  app.onError((error, c) => {
    giveUpBody(c.req.raw);
    const response = respondProblem(error, c.req.raw, (unknown, place) => options.onError?.(unknown, place));
    return withHeaders(options, c, response);
  });
  // 1. Origins, before anything is looked at.
  app.use(async (c, next) => {
    tellOwner(c.env);
    if (originOf(options, c) === false) throw new ProblemError("forbidden-origin");
    if (c.req.method === "OPTIONS") return withHeaders(options, c, new Response(null, { status: 204, headers: CORS }));
    await next();
    return undefined;
  });
  app.get("/openapi.json", (c) => {
    description ??= JSON.stringify(describe(ROUTES, options.catalog.server.version, path));
    const headers = { "content-type": "application/json", "cache-control": "public, max-age=300" };
    return withHeaders(options, c, new Response(description, { headers }));
  });
  // What a program needs to have an operator sign in, which is nobody's secret.
  app.get("/login", (c) => {
    const people = signInOf(options, c.env);
    const client = people?.signIn.client(people.ground);
    if (!client) throw notFound("sign-in: operators have tokens here");
    return withHeaders(options, c, Response.json(client satisfies Infer<typeof OperatorClientShape>));
  });
  for (const route of ROUTES) {
    app.on(route.method, `/v1${route.path.replaceAll(/\{(\w+)\}/g, ":$1")}`, (c) => serve(options, route, c));
  }
  app.all("*", async (c) => {
    // A caller without a token does not learn which routes exist.
    await authenticate(c.req.raw, { env: c.env, options });
    throw refuse(c.req.method, c.req.path);
  });
  return app;
}

async function serve(options: AdminOptions, route: Route, c: Context<Bindings>): Promise<Response> {
  const { raw: request } = c.req;
  const params: Readonly<Record<string, string>> = c.req.param();
  // 2. Who calls, and whether they may.
  const place = { env: c.env, options };
  const { id = "" } = params;
  const known = async () => {
    if (route.isForKeys) return authenticateKey(request, place, id);
    const operator = await authenticate(request, place);
    authorize(operator, route, params);
    return operator;
  };
  const caller = await known();
  // 3. Which tenant is meant, before the body has come: another one may have the name when it has.
  const met = route.path.startsWith("/tenants/{id}") && isTenantId(id) ? meetTenant(place, id) : undefined;
  // Whoever awaits it hears of it: the route.
  met?.catch(() => {});
  // 4. What was sent; whoever sends it must still be let in when it is there.
  const again = async () => {
    // Only its end is waited for.
    await met?.catch(() => {});
    await known();
  };
  const isAwaited = route.body !== undefined && request.body !== null;
  if (!isAwaited && (route.method !== "GET" || caller.tenants)) await again();
  const sent = isAwaited ? checkedAtEnd(request, again) : request;
  // 5. The route.
  try {
    return withHeaders(options, c, await route.serve({ ...place, caller, request: sent, met }, params));
  } finally {
    giveUpBody(sent);
  }
}

/** Hands out the end of the body only when `check` lets it pass: its sender decides how long it takes. */
function checkedAtEnd(request: Request, check: () => Promise<void>): Request {
  const flush = async () =>
    check().catch((error: unknown) => {
      throw new BodyRefused(error);
    });
  const checked = new TransformStream<Uint8Array, Uint8Array>({ flush });
  const { method, headers } = request;
  return new Request(request.url, { method, headers, body: request.body?.pipeThrough(checked) ?? null });
}

/** 405 for a path that exists with another method, else 404. */
function refuse(method: string, path: string): ProblemError {
  const below = path.replace(/^.*?\/v1(?=\/)/, "").replace(/\/$/, "");
  const allowed = ROUTES.filter((route) => patternOf(route.path).test(below)).map((route) => route.method);
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

/** The origin of a page that may call; undefined: no browser's page calls; false: one that may not. */
function originOf(options: AdminOptions, c: Context<Bindings>): string | false | undefined {
  const origin = c.req.header("origin");
  if (origin === undefined) return undefined;
  return (options.originAllowed?.(origin, c.env) ?? false) && origin;
}

/** Keeps answers out of caches, and lets a browser's page read them where its origin is allowed. */
function withHeaders(options: AdminOptions, c: Context<Bindings>, response: Response): Response {
  const { headers } = response;
  if (!headers.has("cache-control")) headers.set("cache-control", "no-store");
  const origin = originOf(options, c);
  if (origin === undefined || origin === false) return response;
  headers.set("access-control-allow-origin", origin);
  headers.set("access-control-expose-headers", "etag, location, retry-after");
  headers.append("vary", "Origin");
  return response;
}

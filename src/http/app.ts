// Owns the Hono app: the routes and the steps before the endpoint, in this order. The one catch.

import { Hono } from "hono/tiny";
import { createAdmin } from "../admin/create-admin.ts";
import type { AdminEnv } from "../admin/route.ts";
import { bearerOf } from "../auth/principal.ts";
import { resourcesUnder } from "../content/store/view-store.ts";
import { ContentBackend } from "../content/serve/backend.ts";
import type { Hooks } from "../calls/call-host.ts";
import type { NewResource } from "../calls/resource-store.ts";
import type { Catalog } from "../content/serve/view.ts";
import { failure, type Failure } from "../protocol/errors.ts";
import { isFailure } from "../protocol/methods/params.ts";
import { sessionStub } from "../sessions/session-door.ts";
import type { RunOrder } from "../sessions/session-object.ts";
import type { Tenant } from "../tenants/document/tenant-definition.ts";
import { lookUp } from "../tenants/directory/directory.ts";
import { readSecret } from "../tenants/isolate/tenant-secrets.ts";
import { validSnapshot, type Snapshot } from "../tenants/isolate/snapshot.ts";
import { ANYWHERE, stubOf } from "../tenants/directory/placement.ts";
import { admit, unauthorized, type Admitted } from "./admit.ts";
import { DEFAULT_MAX_BODY_BYTES, sizeRead } from "./body.ts";
import { connectPage, wantsPage } from "./connect-page.ts";
import { answerStreams } from "./era-2025/streams.ts";
import { createDoors, type StreamEnv } from "../sessions/doors.ts";
import type { Endpoint } from "./endpoint.ts";
import { eraOf, handlePost, respondRefused } from "./mcp.ts";
import { failureOf } from "./on-error.ts";
import { hostAllowed, originAllowed, preflight, withOrigin, type OriginVars } from "./origin.ts";
import { respondFailure } from "./respond.ts";
import { runStored } from "./era-2025/stored-run.ts";
import { findTenant, holdSnapshot, tenantOfHost, type TenantEnv, type Tenants } from "./tenant.ts";

/** What a Worker must bind; see wrangler.toml. */
export interface Env extends OriginVars, TenantEnv, StreamEnv, AdminEnv {
  /** Bytes; 4 MiB when unset. */
  readonly MAX_BODY_BYTES?: string;
}

export interface AppOptions {
  readonly catalog: Catalog;
  readonly tenants: Tenants;
  /** The tenant of `/mcp`. */
  readonly defaultTenant: string | undefined;
  readonly hooks: Hooks;
}

interface Bindings {
  Bindings: Env;
}

/** Where a request is headed, as its URL says. */
interface Target {
  readonly tenant: string;
  readonly profile: string | null;
  /** What follows /mcp in the URL under which this is shown. */
  readonly path: string;
}

export function createApp(options: AppOptions): Hono<Bindings> {
  // The router of this Hono lets one slash at the end pass; `strict: false` would take off another before it.
  const app = new Hono<Bindings>();
  const { hooks, catalog } = options;
  app.onError((error, c) => {
    hooks.onError?.(error, undefined);
    return respondFailure(eraOf(c.req.raw), undefined, failureOf(error, c.req.raw));
  });
  app.get("/healthz", (c) => c.json({ status: "ok", name: catalog.server.name, version: catalog.server.version }));
  app.get("/readyz", async (c) => {
    try {
      await c.env.BODIES.get("readyz");
    } catch (error) {
      hooks.onError?.(error, undefined);
      return c.json({ status: "unavailable" }, 503);
    }
    return c.json({ status: "ready" });
  });
  // An app of its own: its many routes cost an MCP request nothing, nor an isolate that nobody administers through.
  let admin: ReturnType<typeof createAdmin> | undefined;
  app.all("/admin/*", async (c) => {
    const host = c.req.raw.headers.get("host");
    // A tenant's own hostname is for its endpoint alone.
    if (!hostAllowed(host, c.env) || (await tenantOfHost(c.env, host)) !== null) return unknownTenant(c.req.raw);
    admin ??= createAdmin({ catalog, tenants: options.tenants, ...adminAround(hooks) });
    return admin.fetch(c.req.raw, c.env);
  });
  app.all("/mcp/:first?/:second?", async (c) => {
    const { first, second } = c.req.param();
    return serve(options, {
      request: c.req.raw,
      env: c.env,
      ctx: c.executionCtx,
      target: await targetOf(options, c.env, c.req.raw, [first, second]),
    });
  });
  app.get("/", async (c) => {
    const target = await targetOf(options, c.env, c.req.raw, []);
    if (!target || !wantsPage(c.req.raw)) return unknownTenant(c.req.raw);
    return serve(options, { request: c.req.raw, env: c.env, ctx: c.executionCtx, target });
  });
  app.notFound((c) => unknownTenant(c.req.raw));
  return app;
}

async function targetOf(
  options: AppOptions,
  env: Env,
  request: Request,
  [first, second]: readonly (string | undefined)[],
): Promise<Target | undefined> {
  const owner = await tenantOfHost(env, request.headers.get("host"));
  // On a hostname of its own a tenant has profiles under /mcp, and no other tenant can be named.
  if (owner !== null) {
    return second === undefined ? { tenant: owner, profile: first ?? null, path: pathOf(first) } : undefined;
  }
  const tenant = first ?? options.defaultTenant;
  return tenant === undefined ? undefined : { tenant, profile: second ?? null, path: pathOf(tenant, second) };
}

function pathOf(...parts: readonly (string | undefined)[]): string {
  return parts.map((part) => (part === undefined ? "" : `/${part}`)).join("");
}

function adminAround(hooks: Hooks) {
  return {
    originAllowed: (origin: string, env: AdminEnv & OriginVars) => originAllowed(origin, env),
    onError: (error: unknown) => {
      hooks.onError?.(error, undefined);
    },
  };
}

interface Arrival {
  readonly request: Request;
  readonly env: Env;
  readonly ctx: { waitUntil(work: Promise<unknown>): void };
  readonly target: Target | undefined;
}

async function serve(options: AppOptions, arrival: Arrival): Promise<Response> {
  const { request, env, target } = arrival;
  const era = eraOf(request);
  // 1. Hosts, before anything is looked at.
  if (!hostAllowed(request.headers.get("host"), env)) return respondFailure(era, undefined, failure("forbiddenHost"));
  if (!target) return unknownTenant(request);
  // 2. The tenant; unknown names wake nothing.
  const found = await findTenant(env, options.tenants, target.tenant);
  const { tenant } = found;
  const unknown = tenant ? undefined : unknownFailure(request, found);
  // 3. Origins, which a tenant may add to.
  const origin = request.headers.get("origin");
  if (!originAllowed(origin, env) && !(tenant && (await tenantAllows(arrival, tenant, origin)))) {
    return respondFailure(era, undefined, failure("forbiddenOrigin"));
  }
  if (request.method === "OPTIONS") return preflight(origin, request.headers.get("access-control-request-headers"));
  // 4. The method.
  const endpoint = createEndpoint(options, arrival, target, {
    known: tenant ?? (unknown as Failure),
    token: bearerOf(request.headers.get("authorization")),
  });
  const response = request.method === "POST" ? await handlePost(endpoint) : await answerOther(endpoint, target.path);
  return withOrigin(response, origin);
}

async function tenantAllows(arrival: Arrival, tenant: Tenant<NewResource>, origin: string | null): Promise<boolean> {
  const snapshot = await holdSnapshot(aroundOf(arrival), tenant, null);
  return snapshot?.policy.document.allowedOrigins?.some((allowed) => allowed === origin) ?? false;
}

function aroundOf({ env, ctx }: Pick<Arrival, "env" | "ctx">) {
  return {
    env,
    waitUntil: (work: Promise<unknown>) => {
      ctx.waitUntil(work);
    },
  };
}

function unknownFailure(request: Request, found: { readonly anyPrivate: boolean }): Failure {
  // Where there is anything to hide, nobody learns which names exist: whatever was brought, as in `admit`.
  if (found.anyPrivate) return unauthorized(bearerOf(request.headers.get("authorization")));
  return failure("unknownTenant", `Not found: MCP endpoints are at ${new URL(request.url).origin}/mcp/{tenant}`);
}

/** The directory knows more than this isolate did. */
async function gone(request: Request, env: Env, id: string): Promise<Failure> {
  return unknownFailure(request, await lookUp(env, id));
}

function unknownTenant(request: Request): Response {
  return respondFailure(eraOf(request), undefined, unknownFailure(request, { anyPrivate: false }));
}

async function answerOther(endpoint: Endpoint, path: string): Promise<Response> {
  const { request } = endpoint;
  const era = eraOf(request);
  const held = await endpoint.snapshot();
  const admitted = isFailure(held) ? held : endpoint.admit(held);
  if (admitted.kind === "failure") return respondRefused(era, admitted);
  if ((request.method === "GET" || request.method === "HEAD") && wantsPage(request)) {
    return connectPage(request, { id: endpoint.tenant, path, ...admitted.view.server }, admitted.view);
  }
  return isFailure(held) ? respondRefused(era, held) : answerStreams({ ...endpoint, held, admitted }, era);
}

function createEndpoint(
  { catalog, hooks }: AppOptions,
  { request, env, ctx }: Arrival,
  { tenant: id, profile }: Target,
  { known, token }: { readonly known: Tenant<NewResource> | Failure; readonly token: string | null },
): Endpoint {
  const { waitUntil } = aroundOf({ env, ctx });
  const placement = isFailure(known) ? ANYWHERE : known.placement;
  const { jurisdiction } = placement;
  const stub = () => stubOf(env, id, placement);
  return {
    request,
    tenant: id,
    profile,
    maxBodyBytes: bodyLimit(env, id),
    snapshot: (revision) => {
      if (isFailure(known)) return Promise.resolve(known);
      const held = holdSnapshot(aroundOf({ env, ctx }), known, token, revision);
      return held instanceof Promise ? held.then(async (snapshot) => snapshot ?? gone(request, env, id)) : held;
    },
    admit: (snapshot) =>
      isFailure(known)
        ? known
        : admit(catalog, { tenant: known, profile, snapshot, token, bodyBytes: sizeRead(request) }),
    backend: ({ principal, view }: Admitted, snapshot: Snapshot) =>
      new ContentBackend(view, {
        tenant: id,
        sight: view,
        profile,
        principal,
        env,
        ring: snapshot.ring,
        hooks,
        resources: () => resourcesUnder({ tenant: id, sight: view, bodies: env.BODIES }, stub()),
        secret: (name) => readSecret({ env, snapshot, stub }, name),
        stub,
        waitUntil,
      }),
    token,
    doors: createDoors(id, env, { stub, jurisdiction }),
    waitUntil,
    onError: (error) => {
      hooks.onError?.(error, undefined);
    },
  };
}

/** Under a lease the tenant's own limit ends the reading; without one it is looked at when the tenant is known. */
function bodyLimit({ MAX_BODY_BYTES }: Env, tenant: string): number {
  const most = MAX_BODY_BYTES === undefined ? DEFAULT_MAX_BODY_BYTES : Number(MAX_BODY_BYTES);
  return Math.min(most, validSnapshot(tenant)?.policy.document.limits?.bodyBytes ?? most);
}

/** A stored call, in an invocation that its session's object started. */
export function runOrder(
  options: AppOptions,
  order: RunOrder,
  { request, env, ctx }: Pick<Arrival, "request" | "env" | "ctx">,
): Promise<Response> {
  const endpointOf = async (id: string, profile: string | null, token: string | null) => {
    const { tenant } = await findTenant(env, options.tenants, id);
    const target: Target = { tenant: id, profile, path: "" };
    const known = tenant ?? failure("unknownTenant");
    return createEndpoint(options, { request, env, ctx, target }, target, { known, token });
  };
  const running = runStored(order, () => sessionStub(env, order.session, order.jurisdiction), endpointOf);
  // The object that started it may be reset meanwhile; its next instance finds the run at it.
  ctx.waitUntil(running);
  return running;
}

// Owns the Hono app: the routes and the steps before the endpoint, in this order. The one catch.

import { Hono } from "hono";
import { ANONYMOUS } from "../auth/principal.ts";
import { ContentBackend } from "../content/backend.ts";
import type { ContentHost, Hooks } from "../content/host.ts";
import { openStore, type NewResource } from "../content/store.ts";
import { contentTables } from "../content/tables.ts";
import { viewOf, type Catalog, type View } from "../content/view.ts";
import { failure } from "../protocol/errors.ts";
import type { Backend, SessionPort } from "../protocol/backend.ts";
import type { SessionObject } from "../streams/session-object.ts";
import { authorityTables } from "../tenants/authority.ts";
import type { Tenant } from "../tenants/definition.ts";
import { askLease, dropLease, heldLease, type Lease } from "../tenants/lease.ts";
import { remote, type TenantStub } from "../tenants/tables.ts";
import { DEFAULT_MAX_BODY_BYTES } from "./body.ts";
import { connectPage, wantsPage } from "./connect-page.ts";
import { eraOf, handlePost, type Endpoint } from "./mcp.ts";
import { failureOf } from "./on-error.ts";
import { hostAllowed, originAllowed, preflight, withOrigin, type OriginVars } from "./origin.ts";
import { respondFailure } from "./respond.ts";
import type { Session } from "./session.ts";

/** What a Worker must bind; see wrangler.toml. */
export interface Env extends OriginVars {
  readonly TENANTS: DurableObjectNamespace;
  readonly SESSIONS: DurableObjectNamespace<SessionObject>;
  readonly BODIES: KVNamespace;
  /** Bytes; 4 MiB when unset. */
  readonly MAX_BODY_BYTES?: string;
}

export interface AppOptions {
  readonly catalog: Catalog;
  readonly tenants: ReadonlyMap<string, Tenant<NewResource>>;
  /** The tenant of `/mcp`. */
  readonly defaultTenant: string | undefined;
  readonly hooks: Hooks;
}

interface Target {
  readonly tenant: Tenant<NewResource>;
  readonly view: View;
}

type Bindings = { Bindings: Env };

export function createApp(options: AppOptions): Hono<Bindings> {
  const app = new Hono<Bindings>({ strict: false });
  const { hooks, catalog } = options;
  const targets = new Map<string, Target>();
  for (const tenant of options.tenants.values()) {
    let view: View | undefined;
    targets.set(tenant.id, {
      tenant,
      get view() {
        return (view ??= viewOf(catalog, tenant));
      },
    });
  }

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

  app.all("/mcp/:tenant?/:profile?", async (c) => {
    const request = c.req.raw;
    const { env } = c;
    // 1. Hosts and origins, before anything is looked at.
    const origin = request.headers.get("origin");
    if (!hostAllowed(request.headers.get("host"), env))
      return respondFailure(eraOf(request), undefined, failure("forbiddenHost"));
    if (!originAllowed(origin, env)) return respondFailure(eraOf(request), undefined, failure("forbiddenOrigin"));
    if (request.method === "OPTIONS") return preflight(origin, request.headers.get("access-control-request-headers"));
    // 2. The tenant; unknown names wake nothing.
    const id = c.req.param("tenant") ?? options.defaultTenant;
    const target = id === undefined || c.req.param("profile") !== undefined ? undefined : targets.get(id);
    if (!target) return withOrigin(unknownTenant(request), origin);
    // 3. The method.
    if (request.method !== "POST") return withOrigin(await answerOther(request, target), origin);
    // 4. The principal, and the endpoint.
    const response = await handlePost(createEndpoint(request, target, env, { hooks, ctx: c.executionCtx }));
    return withOrigin(response, origin);
  });

  app.get("/", (c) => {
    const target = options.defaultTenant === undefined ? undefined : targets.get(options.defaultTenant);
    return target && wantsPage(c.req.raw) ? answerOther(c.req.raw, target) : unknownTenant(c.req.raw);
  });
  app.notFound((c) => unknownTenant(c.req.raw));
  return app;
}

function unknownTenant(request: Request): Response {
  const why = `Not found: MCP endpoints are at ${new URL(request.url).origin}/mcp/{tenant}`;
  return respondFailure(eraOf(request), undefined, failure("unknownTenant", why));
}

async function answerOther(request: Request, { tenant, view }: Target): Promise<Response> {
  if ((request.method === "GET" || request.method === "HEAD") && wantsPage(request)) {
    return connectPage(request, { id: tenant.id, ...view.server }, view);
  }
  const response = respondFailure(
    eraOf(request),
    undefined,
    failure("methodNotAllowed", "Method not allowed: use POST"),
  );
  response.headers.set("allow", "POST, OPTIONS");
  return response;
}

interface Around {
  readonly hooks: Hooks;
  readonly ctx: { waitUntil(work: Promise<unknown>): void };
}

function createEndpoint(request: Request, target: Target, env: Env, { hooks, ctx }: Around): Endpoint {
  const { tenant, view } = target;
  const stub = () => env.TENANTS.getByName(tenant.id) as unknown as TenantStub;
  const waitUntil = (work: Promise<unknown>) => {
    ctx.waitUntil(work);
  };
  return {
    request,
    tenant: tenant.id,
    profile: null,
    principal: ANONYMOUS,
    maxBodyBytes: env.MAX_BODY_BYTES === undefined ? DEFAULT_MAX_BODY_BYTES : Number(env.MAX_BODY_BYTES),
    lease: () => heldLease(tenant.id) ?? takeLease(tenant, stub(), env),
    backend: (lease): Backend => {
      const host: ContentHost = {
        tenant,
        profile: null,
        principal: ANONYMOUS,
        env,
        bodies: env.BODIES,
        ring: lease.ring,
        hooks,
        stub,
        waitUntil,
      };
      return new ContentBackend(view, host);
    },
    session: (session) => sessionPort(tenant.id, session, env),
    waitUntil,
    onError: (error) => {
      hooks.onError?.(error, undefined);
    },
  };
}

/** The first lease of a tenant's life also stores its first content. */
async function takeLease(tenant: Tenant<NewResource>, stub: TenantStub, env: Env): Promise<Lease> {
  const lease = await askLease(tenant.id, stub, tenant.maxStalenessMs);
  if (lease.seeded) return lease;
  dropLease(tenant.id);
  const store = openStore(tenant.id, remote(stub, contentTables), env.BODIES);
  for (const resource of tenant.seed?.() ?? []) await store.write(resource, { ifAbsent: true });
  await remote(stub, authorityTables).markSeeded();
  return askLease(tenant.id, stub, tenant.maxStalenessMs);
}

function sessionPort(tenant: string, session: Session, env: Env): SessionPort {
  const object = () => env.SESSIONS.getByName(`${tenant}/${session.nonce}`);
  return {
    unofficial: session.unofficial,
    logLevel: () => object().logLevel(),
    setLogLevel: (level) => object().setLogLevel(level, session.expires),
  };
}

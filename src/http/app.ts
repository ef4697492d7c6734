// Owns the Hono app: the routes, the steps before the endpoint in this order, and the last catch.

import type { Context } from "hono";
import { Hono } from "hono/tiny";
import { credentialOf, memoOf, type Credential } from "../auth/credential.ts";
import { hostAllowed, originAllowed } from "../auth/origin.ts";
import type { NewResource } from "../calls/resource-store.ts";
import type { Bindings, Deployment, FeatureRoutes } from "../deployment/deployment.ts";
import { hopsOf, MOST_HOPS } from "../outbound/hops.ts";
import { failure, type Failure } from "../protocol/errors.ts";
import { isFailure } from "../protocol/methods/params.ts";
import { giveUpBody } from "../streams/request-body.ts";
import type { Tenant } from "../tenants/document/tenant-definition.ts";
import { lastSnapshot } from "../tenants/isolate/snapshot.ts";
import { mostBodyBytes } from "./body.ts";
import { connectPage, wantsPage } from "./connect-page.ts";
import { enter } from "./enter.ts";
import { hold, unknownTenant } from "./hold-tenant.ts";
import { answerStreams } from "./era-2025/streams.ts";
import { findTenant, tenantOfHost } from "./find-tenant.ts";
import { limitMessages, refusal, refusedAddress, wholly } from "./limit-messages.ts";
import { answerBody, handlePost } from "./mcp.ts";
import { pathBelow } from "../deployment/mount.ts";
import { requestIdOf } from "./on-error.ts";
import { preflight, withOrigin } from "./cors.ts";
import { addressOfUser, askApp, NOWHERE } from "./ask-app.ts";
import { checkReadiness } from "./readiness.ts";
import { eraOf, NO_STORE, respondFailure } from "./respond.ts";
import { Visit, type Address, type Env, type Invocation } from "./visit.ts";

interface AppEnv {
  Bindings: Env;
}

type App = Hono<AppEnv>;
type Knocked = Context<AppEnv>;

export function createApp(deployment: Deployment): App {
  const { hooks, catalog, path } = deployment;
  // Hono's tiny router already ignores one slash at the end; `strict: false` would take off another one before it.
  const app = new Hono<AppEnv>(
    path === "" ? {} : { getPath: (request) => pathBelow(path, new URL(request.url).pathname) },
  );
  app.onError((error, c) => {
    hooks.onError?.(error, undefined);
    // The message was not read, so there is no id to answer: an HTTP status says that the client may try again.
    const data = { requestId: requestIdOf(c.req.raw) };
    const unavailable = { ...failure("unavailable", undefined, data), retryAfter: 5 };
    return turnAway(c.req.raw, unavailable);
  });
  const { name, version } = catalog.server;
  app.get("/healthz", (c) => c.json({ status: "ok", name, version }, 200, NO_STORE));
  app.get("/readyz", async (c) => {
    try {
      await checkReadiness(c.env, deployment.features);
    } catch (error) {
      hooks.onError?.(error, undefined);
      return c.json({ status: "unavailable" }, 503, NO_STORE);
    }
    return c.json({ status: "ready" }, 200, NO_STORE);
  });
  for (const routes of deployment.features.flatMap((one) => one.routes ?? [])) addRoutes(app, deployment, routes);
  app.all("/mcp/:first?/:second?", async (c) => {
    const named = addressOf(deployment, c, c.req.param("first"), c.req.param("second"));
    return serveCaller(deployment, invocationOf(c), named instanceof Promise ? await named : named, MCP);
  });
  app.get("/", async (c) => {
    const address = await addressOf(deployment, c);
    return serveCaller(deployment, invocationOf(c), wantsPage(c.req.raw) ? address : undefined, MCP);
  });
  app.notFound((c) => respondUnknown(deployment, c.req.raw));
  return app;
}

function invocationOf(c: Knocked): Invocation {
  return { request: c.req.raw, env: c.env, ctx: c.executionCtx };
}

/** Adds the routes of a feature, but not on a tenant's own hostname, which is for its endpoint alone. */
function addRoutes(app: App, deployment: Deployment, routes: FeatureRoutes): void {
  let open: ReturnType<FeatureRoutes["open"]> | undefined;
  app.all(routes.path, async (c) => {
    const { headers } = c.req.raw;
    if (!hostAllowed(headers, c.env) || (!routes.onHostnames && (await tenantOfHost(c.env, headers)) !== null)) {
      return respondUnknown(deployment, c.req.raw);
    }
    open ??= routes.open(deployment);
    return open(c.req.raw, c.env as unknown as Bindings, c.executionCtx as ExecutionContext);
  });
}

/** undefined: no tenant is named. */
function addressOf(
  deployment: Deployment,
  c: Knocked,
  first?: string,
  second?: string,
): Address | undefined | Promise<Address | undefined> {
  const owner = tenantOfHost(c.env, c.req.raw.headers);
  if (!(owner instanceof Promise)) return addressUnder(owner, deployment, first, second);
  return owner.then((found) => addressUnder(found, deployment, first, second));
}

/** `owner`: the tenant whose hostname was asked. */
export function addressUnder(
  owner: string | null,
  { defaultTenant, authenticate }: Deployment,
  first: string | undefined,
  second: string | undefined,
): Address | undefined {
  // On a hostname of its own a tenant has profiles under /mcp, and no other tenant can be named.
  if (owner !== null) {
    return second === undefined ? { tenant: owner, profile: first ?? null, path: pathOf(first) } : undefined;
  }
  // An app may say which tenant is meant.
  const tenant = first ?? defaultTenant ?? (authenticate && NOWHERE.tenant);
  if (tenant === undefined) return undefined;
  return { tenant, profile: second ?? null, path: pathOf(tenant, second), isUnnamed: first === undefined };
}

function pathOf(first: string | undefined, second?: string): string {
  if (first === undefined) return "";
  return second === undefined ? `/${first}` : `/${first}/${second}`;
}

function unwelcomeIn({ headers }: Request, env: Env, hops: number): Failure | undefined {
  if (!hostAllowed(headers, env)) return failure("forbiddenHost");
  // A tool that calls our own URLs may call itself.
  if (hops <= MOST_HOPS) return undefined;
  const circle = `Refused: the request went through ${MOST_HOPS} Workers, which looks like a circle of tools`;
  return failure("invalidRequest", circle);
}

/** What is done with the methods of HTTP, once it is known that the tenant may be asked for. */
export interface Endpoint {
  post(visit: Visit, maxBodyBytes: number): Promise<Response>;
  other(visit: Visit): Promise<Response>;
}

const MCP: Endpoint = { post: (visit, maxBytes) => handlePost(visit, maxBytes, answerBody), other: answerOther };

/** The same where whoever calls may be one whom the app knows that mounts the Worker: it is asked first. */
export function serveCaller(
  deployment: Deployment,
  invocation: Invocation,
  address: Address | undefined,
  endpoint: Endpoint,
): Promise<Response> {
  const { request, env } = invocation;
  const isAsked = deployment.authenticate && address && request.method !== "OPTIONS";
  if (!isAsked || !hostAllowed(request.headers, env)) return serve(deployment, invocation, address, endpoint);
  // What the app reads of it is a credential, wherever it stands.
  const exposed = exposedIn(deployment, request);
  if (exposed) return Promise.resolve(turnAway(request, exposed));
  return askApp(deployment, invocation).then((said) => {
    if (said === undefined) return serve(deployment, invocation, address, endpoint);
    if (!(said instanceof Response)) {
      return serve(deployment, { ...invocation, user: said }, addressOfUser(said, address), endpoint);
    }
    giveUpBody(request);
    // Where the Worker lets every tenant's pages ask, the tenant is not even looked for.
    const isAllowed = originAllowed(request.headers.get("origin"), env);
    const send = async () => said;
    return serve(deployment, invocation, isAllowed ? NOWHERE : address, { post: send, other: send });
  });
}

export async function serve(
  deployment: Deployment,
  invocation: Invocation,
  address: Address | undefined,
  endpoint: Endpoint,
): Promise<Response> {
  const { request, env } = invocation;
  const { headers } = request;
  // 1. Hosts, before anything is looked at.
  const hops = hopsOf(headers);
  const unwelcome = unwelcomeIn(request, env, hops);
  if (unwelcome) return turnAway(request, unwelcome);
  if (!address) return respondUnknown(deployment, request);
  const origin = headers.get("origin");
  const isAllowed = originAllowed(origin, env);
  const isPreflight = request.method === "OPTIONS";
  if (isPreflight && isAllowed) return preflightOf(deployment, invocation, address);
  // 2. The tenant; for an unknown name nothing is stored.
  const { tenant: id, profile, path } = address;
  const credential = broughtBy(invocation);
  const refused = refusedUnasked(deployment, id, credential, request);
  if (refused) return turnAway(request, refused);
  const finding = findTenant(env, deployment, id, credential);
  const found = finding instanceof Promise ? await finding : finding;
  const { tenant } = found;
  const known = tenant ?? unknownTenant({ request, deployment }, credential, found.anyPrivate);
  const visit = new Visit(deployment, invocation, { tenant: id, profile, path, credential, known });
  // 3. Origins, which a tenant may add to.
  if (!isAllowed && !(await tenantAllows(visit, tenant, origin))) {
    return turnAway(request, refusal(visit, failure("forbiddenOrigin")));
  }
  if (isPreflight) return preflightOf(deployment, invocation, address);
  // 4. The method.
  const answered = await answeredBy(endpoint, visit);
  if (hops > 0) await sayWhose(visit, answered);
  return withOrigin(answered, origin);
}

function broughtBy({ request, user }: Invocation): Credential {
  return user ? { kind: "app", user } : credentialOf(request.headers.get("authorization"));
}

function answeredBy(endpoint: Endpoint, visit: Visit): Promise<Response> {
  const { request, deployment, env } = visit;
  if (request.method === "POST") return endpoint.post(visit, mostBodyBytes(deployment, env));
  giveUpBody(request);
  return endpoint.other(visit);
}

function exposedIn({ features }: Deployment, request: Request): Failure | undefined {
  return features.find((one) => one.exposed)?.exposed?.(request);
}

/** To a Worker of ours. */
async function sayWhose({ deployment, host }: Visit, { headers }: Response): Promise<void> {
  if (host) for (const { via } of deployment.features) await via?.(host, headers);
}

/** A failure: neither the directory nor an authority is asked who this is: too many were refused there, or others listen. */
export function refusedUnasked(
  deployment: Deployment,
  id: string,
  credential: Credential,
  request: Request,
): Failure | undefined {
  // Whoever listens must not learn from the answer what the credential was worth.
  const refused = credential.kind === "none" ? undefined : exposedIn(deployment, request);
  if (refused) return refused;
  const memo = memoOf(credential);
  const last = lastSnapshot(id);
  const isKnown =
    memo === undefined ? last !== undefined || deployment.tenants.has(id) : (last?.keys.get(memo) ?? null) !== null;
  return isKnown ? undefined : refusedAddress(deployment, request);
}

/** The same for every name, but for what a feature reads of a tenant's clients. */
async function preflightOf(deployment: Deployment, invocation: Invocation, address: Address): Promise<Response> {
  const { request } = invocation;
  const { headers } = request;
  giveUpBody(request);
  const more = await Promise.all(
    deployment.features.map(async (one) => one.pageHeaders?.(deployment, invocation, address)),
  );
  return preflight(headers.get("origin"), headers.get("access-control-request-headers"), more.flat());
}

async function tenantAllows(
  visit: Visit,
  tenant: Tenant<NewResource> | undefined,
  origin: string | null,
): Promise<boolean> {
  const snapshot = tenant && (await hold(visit));
  if (!snapshot || isFailure(snapshot)) return false;
  return snapshot.policy.document.allowedOrigins?.some((allowed) => allowed === origin) ?? false;
}

function respondUnknown(deployment: Deployment, request: Request): Response {
  const unknown = unknownTenant({ request, deployment }, { kind: "none" }, false);
  return turnAway(request, unknown);
}

/** Refuses what was not read. */
function turnAway(request: Request, why: Failure): Response {
  giveUpBody(request);
  return respondFailure(eraOf(request), undefined, why);
}

async function answerOther(visit: Visit): Promise<Response> {
  const { request, knock, deployment } = visit;
  const era = eraOf(request);
  const entered = await enter(visit);
  if (isFailure(entered)) return respondFailure(era, undefined, refusal(visit, entered));
  const taken = limitMessages(entered, undefined);
  const limited = wholly(taken instanceof Promise ? await taken : taken);
  if (limited) return respondFailure(era, undefined, limited);
  const { view, tenant } = entered;
  if ((request.method === "GET" || request.method === "HEAD") && wantsPage(request)) {
    return connectPage(request, { id: tenant, mount: deployment.path, path: knock.path, ...view.server }, view);
  }
  return answerStreams(entered, era);
}

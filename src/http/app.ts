// Owns the Hono app: the routes, the steps before the endpoint in this order, and the last catch.

import type { Context } from "hono";
import { Hono } from "hono/tiny";
import { credentialOf, memoOf, type Credential } from "../auth/credential.ts";
import { hostAllowed, originAllowed } from "../auth/origin.ts";
import type { Bindings, Deployment, BuiltInRoutes } from "../deployment/deployment.ts";
import { hopsOf, MOST_HOPS } from "../outbound/hops.ts";
import { failure, type Failure } from "../protocol/errors.ts";
import { isFailure } from "../protocol/methods/params.ts";
import { giveUpBody } from "../streams/request-body.ts";
import { UNRELEASED } from "../tenants/authority/incarnation.ts";
import { isUnreleased } from "../tenants/isolate/asked-again.ts";
import { lastSnapshot, type Snapshot } from "../tenants/isolate/snapshot.ts";
import { mostBodyBytes } from "./body.ts";
import { enter } from "./enter.ts";
import type { Entered } from "./entered.ts";
import { hold, noEndpoint, refuseName } from "./hold-tenant.ts";
import { awayRetryAfter } from "./on-error.ts";
import { answerStreams } from "./era-2025/streams.ts";
import { findTenant, tenantOfHost } from "./find-tenant.ts";
import { limitMessages, refusal, refusedAddress, wholly } from "./limit-messages.ts";
import { answerBody, handlePost } from "./mcp.ts";
import { pathBelow } from "../deployment/mount.ts";
import { requestIdOf } from "../telemetry/request-id.ts";
import { preflight, withOrigin } from "./cors.ts";
import { addressOfUser, askApp, NOWHERE } from "./ask-app.ts";
import { checkReadiness } from "./readiness.ts";
import { eraOf, NO_STORE, refusedWith, respondFailure, retold } from "./respond.ts";
import { observed, Visit, type Address, type Env, type Invocation } from "./visit.ts";

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
    // The message was not read, so there is no id to answer: an HTTP status says that the client may try again.
    const data = { requestId: requestIdOf(c.req.raw) };
    hooks.onError?.(error, undefined, { method: c.req.method, ...data });
    const message = isUnreleased(error) ? UNRELEASED : undefined;
    const unavailable = { ...failure("unavailable", message, data), retryAfter: awayRetryAfter() };
    return turnAway(deployment, c.req.raw, unavailable);
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
    const address = await addressOf(deployment, c, c.req.param("first"), c.req.param("second"));
    return serveCaller(deployment, invocationOf(c), address, MCP);
  });
  app.get("/", async (c) => {
    const address = await addressOf(deployment, c);
    return serveCaller(deployment, invocationOf(c), isPerson(c.req.raw) ? address : undefined, MCP);
  });
  app.notFound((c) => respondUnknown(deployment, c.req.raw));
  return app;
}

function invocationOf(c: Knocked): Invocation {
  return { request: c.req.raw, env: c.env, ctx: c.executionCtx };
}

/** Adds the routes of a feature, but not on a tenant's own hostname, which is for its endpoint alone. */
function addRoutes(app: App, deployment: Deployment, routes: BuiltInRoutes): void {
  let open: ReturnType<BuiltInRoutes["open"]> | undefined;
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
async function addressOf(
  deployment: Deployment,
  c: Knocked,
  first?: string,
  second?: string,
): Promise<Address | undefined> {
  return addressUnder(await tenantOfHost(c.env, c.req.raw.headers), deployment, first, second);
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
    return second === undefined
      ? { tenant: owner, profile: first ?? null, path: pathOf(first), isHosted: true }
      : undefined;
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
export async function serveCaller(
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
  if (exposed) return turnAway(deployment, request, exposed);
  const said = await askApp(deployment, invocation);
  if (said === undefined) return serve(deployment, invocation, address, endpoint);
  if (!(said instanceof Response)) {
    return serve(deployment, { ...invocation, user: said }, addressOfUser(said, address), endpoint);
  }
  giveUpBody(request);
  // Where the Worker lets every tenant's pages ask, the tenant is not even looked for.
  const isAllowed = originAllowed(request.headers.get("origin"), env);
  const send = async () => said;
  return serve(deployment, invocation, isAllowed ? NOWHERE : address, { post: send, other: send });
}

export async function serve(
  deployment: Deployment,
  invocation: Invocation,
  address: Address | undefined,
  endpoint: Endpoint,
): Promise<Response> {
  if (!deployment.observe) return serveTenant(deployment, invocation, address, endpoint);
  const seen = observed(deployment, invocation);
  let response: Response;
  try {
    response = await serveTenant(deployment, seen, address, endpoint);
  } catch (error) {
    seen.trail?.answered(undefined, "unavailable");
    throw error;
  }
  seen.trail?.answered(response, refusedWith(response));
  return response;
}

async function serveTenant(
  deployment: Deployment,
  invocation: Invocation,
  address: Address | undefined,
  endpoint: Endpoint,
): Promise<Response> {
  const { request, env } = invocation;
  const { headers } = request;
  // 1. Hosts, before anything is looked at.
  const unwelcome = unwelcomeIn(request, env, hopsOf(headers));
  if (unwelcome) return turnAway(deployment, request, unwelcome);
  if (!address) return respondUnknown(deployment, request);
  const origin = headers.get("origin");
  const isAllowed = originAllowed(origin, env);
  // The same for every name and origin, so that it tells of none: what is asked afterwards is refused.
  if (request.method === "OPTIONS") {
    giveUpBody(request);
    return preflight(origin, headers.get("access-control-request-headers"));
  }
  // 2. The tenant; for an unknown name nothing is stored.
  const { tenant: id, profile, path, isHosted } = address;
  const credential = broughtBy(invocation);
  const refused = refusedUnasked(deployment, id, credential, request);
  if (refused) return turnAway(deployment, request, refused);
  const known = (await findTenant(env, deployment, id)) ?? refuseName({ request, deployment }, id, credential);
  const visit = new Visit(deployment, invocation, { tenant: id, profile, path, isHosted, credential, known });
  // 3. Origins, which a tenant may add to.
  if (!isAllowed && !(await tenantAllows(visit, origin))) {
    return turnAway(deployment, request, refusal(visit, failure("forbiddenOrigin")));
  }
  // 4. The method.
  const answered = await answeredBy(endpoint, visit);
  return withOrigin(answered, origin);
}

function broughtBy({ request, user }: Invocation): Credential {
  return user ? { kind: "app", user } : credentialOf(request.headers.get("authorization"));
}

async function answeredBy(endpoint: Endpoint, visit: Visit): Promise<Response> {
  const { request, env } = visit;
  if (request.method === "POST") return endpoint.post(visit, mostBodyBytes(env));
  giveUpBody(request);
  return endpoint.other(visit);
}

function exposedIn({ features }: Deployment, request: Request): Failure | undefined {
  return features.find((one) => one.exposed)?.exposed?.(request);
}

/** A failure: neither the directory nor an authority is asked who this is: too many were refused there, or others listen. */
function refusedUnasked(
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
    memo === undefined ? mayServe(deployment, id, last, credential) : (last?.keys.get(memo) ?? null) !== null;
  return isKnown ? undefined : refusedAddress(deployment, request);
}

/** Where only keys are let in, who brings none is refused anyway: asked about, it would be seen that there is such a tenant. */
function mayServe(
  { tenants, asked }: Deployment,
  id: string,
  last: Snapshot | undefined,
  { kind }: Credential,
): boolean {
  const declared = tenants.get(id) ?? (last && asked?.last(id));
  if (!last && !declared) return false;
  return kind === "app" || (last?.policy.document.mode ?? (declared ? declared.base.mode : "key")) !== "key";
}

/** Also true where a private tenant refuses the credential: that answer is the one of an unknown name, with any origin. */
async function tenantAllows(visit: Visit, origin: string | null): Promise<boolean> {
  const { request, deployment } = visit;
  if (origin !== null && deployment.pages?.isOwn(request, origin)) return true;
  const snapshot = await hold(visit);
  if (isFailure(snapshot)) return snapshot.error !== "unknownTenant";
  const { mode, allowedOrigins } = snapshot.policy.document;
  if (allowedOrigins?.some((allowed) => allowed === origin) === true) return true;
  return mode === "key" && isFailure(await enter(visit));
}

function respondUnknown(deployment: Deployment, request: Request): Response {
  // A client that was refused, and told of no login, tries to register: what stands here is the last that its person reads.
  const isRegistering = request.method === "POST" && new URL(request.url).pathname === "/register";
  const unknown = isRegistering
    ? failure("unknownTenant", "Not found: no client registers here. The key is wrong, or is missing")
    : noEndpoint({ request, deployment });
  return turnAway(deployment, request, unknown);
}

/** Refuses what was not read. */
function turnAway(deployment: Deployment, request: Request, why: Failure): Response {
  giveUpBody(request);
  return refuse(deployment, request, why);
}

function refuse({ pages, path }: Deployment, request: Request, why: Failure): Response {
  const refused = respondFailure(eraOf(request), undefined, why);
  return pages && isPerson(request) ? retold(refused, pages.refuse(request, path, refused, why)) : refused;
}

/** Whether it comes from a browser's address bar. */
function isPerson({ method, headers }: Request): boolean {
  return (method === "GET" || method === "HEAD") && (headers.get("accept") ?? "").toLowerCase().includes("text/html");
}

async function answerOther(visit: Visit): Promise<Response> {
  const { request, deployment } = visit;
  const entered = await enter(visit);
  if (isFailure(entered)) return refuse(deployment, request, refusal(visit, entered));
  const limited = wholly(await limitMessages(entered, undefined));
  if (limited) return refuse(deployment, request, limited);
  return isPerson(request) ? showPerson(entered) : answerStreams(entered, eraOf(request));
}

function showPerson({ visit, tenant, view, document: { mode = "open" } }: Entered): Response {
  const { request, deployment, knock } = visit;
  const { pages, path: mount } = deployment;
  const { path, profile } = knock;
  if (pages) return pages.show(request, mount, { tenant, profile, path, mode, view });
  const { name, title = name } = view.server;
  const text = `${title}: an MCP server. Its address, for MCP clients:\n\n${new URL(request.url).origin}${mount}/mcp${path}\n`;
  return new Response(text, { headers: { vary: "Accept", ...NO_STORE } });
}

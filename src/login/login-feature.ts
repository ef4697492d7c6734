// The feature `login()` as a Worker's author imports it: authentication of callers, and its routes. A Worker without it
// has neither in its bundle.

import type { BuiltInFeature, BuiltInRoutes } from "../deployment/deployment.ts";
import type { Feature } from "../deployment/feature.ts";
import { loginFeature } from "./login.ts";
import { assertNoOptions } from "../protocol/members.ts";
import { metadataRoutes, serverMetadataEndpoint } from "./well-known.ts";
import type { LoginContext } from "./login-context.ts";
import { rejectionPageResponse } from "./pages/error-page.ts";
import { redirectTo } from "./server/oauth-responses.ts";
import { handleLogin, LOGIN_PATHS, PROGRAM_PATHS } from "./server/authorization-server.ts";
import type { LoginDocument } from "../tenants/document/tenant-document.ts";
import { failure, type Failure } from "../protocol/errors.ts";
import { isFailure } from "../protocol/methods/params.ts";
import { MESSAGE_MIN_RATE, RequestBody } from "../streams/request-body.ts";
import { resolveLimits } from "../limits/limit-definitions.ts";
import type { Endpoint } from "../endpoint/serve.ts";
import { readBodyText } from "../endpoint/body.ts";
import { createRefreshContext, createViewFor } from "../endpoint/authorize-request.ts";
import { noEndpoint } from "../endpoint/tenant-policy.ts";
import { limitAddress, countRefusal } from "../endpoint/rate-limit.ts";
import {
  parseLoginLocation,
  tenantTarget,
  getLoginTenant,
  PUBLIC_CORS,
  serveAnonymously,
  loginUrlsOf,
  withPublicCors,
  type LoginLocation,
} from "./login-location.ts";
import { respondFailure } from "../endpoint/respond.ts";
import type { EndpointTarget, RequestContext } from "../endpoint/request-context.ts";

/**
 * Adds login: callers authenticate with tokens of the authorization servers that a tenant names, or of the tenant's own
 * one. See `node_modules/tenantry/docs/login.md`.
 */
export function login(...options: readonly never[]): Feature {
  assertNoOptions("login", options);
  const feature: BuiltInFeature = { ...loginFeature(), routes: [metadataRoutes, ...loginRoutes] };
  return feature;
}

const MAX_FORM_BYTES = 65_536;
/** For a tenant that takes only tokens of other issuers: it may sign tokens for its own API. */
const KEY_LOGIN: LoginDocument = { via: "key" };

const openLogin: BuiltInRoutes["open"] = (deployment) => async (request, env, ctx) => {
  const location = await parseLoginLocation(deployment, request, env);
  const { address: target, path } = parseStep(location);
  const isProgram = PROGRAM_PATHS.includes(path) || SERVER_METADATA_PATH.test(path);
  if (isProgram && request.method === "OPTIONS") return new Response(null, { status: 204, headers: PUBLIC_CORS });
  const endpoint = path.startsWith("/.well-known/")
    ? serverMetadataEndpoint(location)
    : loginEndpoint(location, path, request.headers);
  const response = await serveAnonymously(deployment, { request, env, ctx }, target, endpoint);
  return isProgram ? withPublicCors(response) : response;
};

/**
 * Routes of the tenants' authorization servers. Each finds the tenant under a lease and applies the limits per address
 * before a step runs. On a tenant's own hostname they are at the root, and only there.
 */
const loginRoutes: readonly BuiltInRoutes[] = ["/login/*", "/account/*", ...LOGIN_PATHS].map((path) => {
  return { path, onHostnames: true, open: openLogin };
});

const SERVER_METADATA_PATH = /^\/\.well-known\/(?:oauth-authorization-server|openid-configuration)$/;

function parseStep({ path, hostnameTenant: owner }: LoginLocation): {
  readonly address: EndpointTarget | undefined;
  readonly path: string;
} {
  if (owner !== null) return { address: LOGIN_PATHS.includes(path) ? tenantTarget(owner) : undefined, path };
  const [, area, tenant, below = ""] = /^\/(login|account)\/([^/]+)(\/.*)?$/.exec(path) ?? [];
  const step = area === "account" ? `/account${below}` : below;
  const isStep =
    area === "account"
      ? below === ""
      : step !== "/account" && (step === "" || LOGIN_PATHS.includes(step) || SERVER_METADATA_PATH.test(step));
  return { address: tenant !== undefined && isStep ? tenantTarget(tenant) : undefined, path: step };
}

function loginEndpoint(location: LoginLocation, path: string, originalHeaders: Headers): Endpoint {
  const answerStep = async (context: RequestContext): Promise<Response> => {
    const loginContext = await createLoginContext(context, location, path, originalHeaders);
    const isProgram = PROGRAM_PATHS.includes(path);
    const isPerson = originalHeaders.get("accept")?.includes("text/html") === true && !isProgram;
    if (!isFailure(loginContext)) {
      // The bare issuer URL: programs know that there is nothing to read.
      return path === "" && isPerson ? redirectTo(loginContext.urls.account) : handleLogin(loginContext);
    }
    const rejection = rejectStep(context, loginContext, isPerson);
    return isProgram && rejection.status >= 429 ? toOAuthError(rejection) : rejection;
  };
  return { post: answerStep, nonPost: answerStep };
}

function rejectStep(context: RequestContext, reason: Failure, isPerson: boolean): Response {
  const rejection = countRefusal(context, reason);
  const response = respondFailure(context.era, undefined, rejection);
  return isPerson ? rejectionPageResponse(new URL(context.request.url).host, response, rejection.message) : response;
}

/** A client that gets no OAuth error drops its tokens and makes its person sign in again. */
async function toOAuthError(rejection: Response): Promise<Response> {
  const { error } = await rejection.json<{ readonly error: { readonly message: string } }>();
  const body = { error: "temporarily_unavailable", error_description: error.message };
  return Response.json(body, rejection);
}

/** `originalHeaders`: the headers as the client sent them. */
async function createLoginContext(
  context: RequestContext,
  location: LoginLocation,
  path: string,
  originalHeaders: Headers,
): Promise<LoginContext | Failure> {
  const loginTenant = await getLoginTenant(context);
  if (isFailure(loginTenant)) return loginTenant;
  const { tenant, cachedPolicy, document } = loginTenant;
  const loginDocument = document.auth?.login ?? (path === "/jwks" ? KEY_LOGIN : undefined);
  if (!loginDocument) return noEndpoint(context);
  const limits = resolveLimits(context.deployment.catalog.limits, document.limits);
  const limitFailure = await limitAddress(context, cachedPolicy.created, limits);
  if (limitFailure) return limitFailure;
  const body = await readForm(context.request);
  if (isFailure(body)) return body;
  return {
    request: new Request(context.request.url, { method: context.request.method, headers: originalHeaders }),
    body,
    path,
    urls: loginUrlsOf(context, location),
    login: loginDocument,
    isSuspended: cachedPolicy.policy.suspensions.some(({ kind }) => kind === "tenant"),
    tenantContext: createRefreshContext(context, cachedPolicy, document),
    ring: cachedPolicy.ring,
    clientAddress: context.clientAddress,
    waitUntil: (work) => {
      context.waitUntil(work);
    },
    viewOf: (profile, principal) => createViewFor(context, tenant, cachedPolicy, { profile, principal }),
  };
}

async function readForm(request: Request): Promise<string | Failure> {
  if (request.method !== "POST") return "";
  const body = new RequestBody(request, MESSAGE_MIN_RATE);
  try {
    const text = await readBodyText(body, MAX_FORM_BYTES);
    return typeof text === "string" ? text : text.error === "parseError" ? failure("invalidRequest") : text;
  } finally {
    body.release();
  }
}

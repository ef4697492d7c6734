// Owns the feature `login()` as a Worker's author imports it: who calls, and the routes of its endpoints. A Worker without it
// has neither in its bundle.

import type { BuiltInFeature, BuiltInRoutes } from "../deployment/deployment.ts";
import type { Feature } from "../deployment/feature.ts";
import { loginFeature } from "../login/login.ts";
import { refuseOptions } from "../protocol/members.ts";
import { metadataRoutes, metadataEndpoint } from "./well-known.ts";
import type { LoginVisit } from "../login/login-visit.ts";
import { refusedPage } from "../login/pages/refusal-page.ts";
import { redirectTo } from "../login/server/answers.ts";
import { answerLogin, LOGIN_PATHS, PROGRAM_PATHS } from "../login/server/authorization-server.ts";
import type { LoginDocument } from "../tenants/document/tenant-document.ts";
import { failure, type Failure } from "../protocol/errors.ts";
import { isFailure } from "../protocol/methods/params.ts";
import { MESSAGE_PACE, RequestBody } from "../streams/request-body.ts";
import { limitsInForce } from "../limits/limit-table.ts";
import type { Endpoint } from "./app.ts";
import { textOf } from "./body.ts";
import { tendGroundOf, viewFor } from "./enter.ts";
import { noEndpoint } from "./hold-tenant.ts";
import { limitAddress, refusal } from "./limit-messages.ts";
import { askedAt, atTenant, openPlace, PUBLIC, serveAnyone, urlsOf, withPublic, type AskedAt } from "./login-place.ts";
import { respondFailure } from "./respond.ts";
import type { Address, Visit } from "./visit.ts";

/** Tokens of the authorization servers that a tenant names, and of its own: `docs/login.md`. */
export function login(...options: readonly never[]): Feature {
  refuseOptions("login", options);
  const feature: BuiltInFeature = { ...loginFeature(), routes: [metadataRoutes, ...loginRoutes] };
  return feature;
}

const MOST_BYTES = 65_536;
/** Of a tenant that takes tokens of others alone: it may sign tokens for its own API. */
const NO_LOGIN: LoginDocument = { via: "key" };

const open: BuiltInRoutes["open"] = (deployment) => async (request, env, ctx) => {
  const at = await askedAt(deployment, request, env);
  const { address, path } = stepAt(at);
  const isProgram = PROGRAM_PATHS.includes(path) || KNOWN.test(path);
  if (isProgram && request.method === "OPTIONS") return new Response(null, { status: 204, headers: PUBLIC });
  const endpoint = path.startsWith("/.well-known/")
    ? metadataEndpoint(at, "")
    : loginEndpoint(at, path, request.headers);
  const response = await serveAnyone(deployment, { request, env, ctx }, address, endpoint);
  return isProgram ? withPublic(response) : response;
};

/**
 * The URLs of tenants' authorization servers: the tenant is found under a lease, whoever comes is held against the limits of an address,
 * then src/login has the visit. On a tenant's own hostname they stand at the root, and nowhere else.
 */
const loginRoutes: readonly BuiltInRoutes[] = ["/login/*", "/account/*", ...LOGIN_PATHS].map((path) => {
  return { path, onHostnames: true, open };
});

const KNOWN = /^\/\.well-known\/(?:oauth-authorization-server|openid-configuration)$/;

function stepAt({ path, owner }: AskedAt): { readonly address: Address | undefined; readonly path: string } {
  if (owner !== null) return { address: LOGIN_PATHS.includes(path) ? atTenant(owner) : undefined, path };
  const [, place, tenant, below = ""] = /^\/(login|account)\/([^/]+)(\/.*)?$/.exec(path) ?? [];
  const step = place === "account" ? `/account${below}` : below;
  const isStep =
    place === "account"
      ? below === ""
      : step !== "/account" && (step === "" || LOGIN_PATHS.includes(step) || KNOWN.test(step));
  return { address: tenant !== undefined && isStep ? atTenant(tenant) : undefined, path: step };
}

function loginEndpoint(at: AskedAt, path: string, asked: Headers): Endpoint {
  const answer = async (visit: Visit): Promise<Response> => {
    const ready = await visitAt(visit, at, path, asked);
    const isProgram = PROGRAM_PATHS.includes(path);
    const isPerson = asked.get("accept")?.includes("text/html") === true && !isProgram;
    if (!isFailure(ready)) {
      // The issuer itself: programs know that there is nothing.
      return path === "" && isPerson ? redirectTo(ready.urls.account) : answerLogin(ready);
    }
    const refused = refuseAt(visit, ready, isPerson);
    return isProgram && refused.status >= 429 ? asOAuth(refused) : refused;
  };
  return { post: answer, other: answer };
}

function refuseAt(visit: Visit, failed: Failure, isPerson: boolean): Response {
  const why = refusal(visit, failed);
  const refused = respondFailure(visit.era, undefined, why);
  return isPerson ? refusedPage(new URL(visit.request.url).host, refused, why.message) : refused;
}

/** A client that finds no error of OAuth takes what it has for lost, and has its person sign in again. */
async function asOAuth(refused: Response): Promise<Response> {
  const { error } = await refused.json<{ readonly error: { readonly message: string } }>();
  const said = { error: "temporarily_unavailable", error_description: error.message };
  return Response.json(said, refused);
}

/** `asked`: the headers as they came. */
async function visitAt(visit: Visit, at: AskedAt, path: string, asked: Headers): Promise<LoginVisit | Failure> {
  const place = await openPlace(visit);
  if (isFailure(place)) return place;
  const { tenant, snapshot, document } = place;
  const own = document.auth?.login ?? (path === "/jwks" ? NO_LOGIN : undefined);
  if (!own) return noEndpoint(visit);
  const limits = limitsInForce(visit.deployment.catalog.limits, document.limits);
  const barred = await limitAddress(visit, snapshot.created, limits);
  if (barred) return barred;
  const body = await bodyOf(visit.request);
  if (isFailure(body)) return body;
  return {
    request: new Request(visit.request.url, { method: visit.request.method, headers: asked }),
    body,
    path,
    urls: urlsOf(visit, at),
    login: own,
    isSuspended: snapshot.policy.suspensions.some(({ kind }) => kind === "tenant"),
    ground: tendGroundOf(visit, snapshot, document),
    ring: snapshot.ring,
    address: visit.address,
    waitUntil: (work) => {
      visit.waitUntil(work);
    },
    viewOf: (profile, principal) => viewFor(visit, tenant, snapshot, { profile, principal }),
  };
}

async function bodyOf(request: Request): Promise<string | Failure> {
  if (request.method !== "POST") return "";
  const body = new RequestBody(request, MESSAGE_PACE);
  try {
    const text = await textOf(body, MOST_BYTES);
    return typeof text === "string" ? text : text.error === "parseError" ? failure("invalidRequest") : text;
  } finally {
    body.release();
  }
}

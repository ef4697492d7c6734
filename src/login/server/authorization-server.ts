// A tenant's authorization server as a Hono app: its routes below the issuer, and the checks before them.

import { Hono } from "hono/tiny";
import { jwksResponse } from "../identity/jwks.ts";
import type { LoginContext } from "../login-context.ts";
import { handleAccount } from "./account.ts";
import {
  jsonResponse,
  unavailableError,
  oauthErrorResponse,
  errorPageResponse,
  unavailablePageResponse,
} from "./oauth-responses.ts";
import { retryAfterOf } from "./find-client.ts";
import { handleToken, handleRevoke } from "./token-endpoint.ts";
import { handleRegister } from "./register.ts";
import { beginAuthorize, handleConsent, finishSignIn, showConsent, showSignIn } from "./sign-in-steps.ts";

/** Per address and minute: nearly each step calls the tenant object, which also grants the leases. */
const MAX_STEPS = 1200;
const RATE_LIMITED = { error: "temporarily_unavailable", error_description: "too many requests from this address" };

/** Paths for programs. Pages of any origin may read the answers, because no cookie is involved. */
export const PROGRAM_PATHS: readonly string[] = ["/token", "/register", "/revoke", "/jwks"];

/** The login context takes the place of Hono's bindings. */
interface LoginEnv {
  Bindings: LoginContext;
}

function createServer(): Hono<LoginEnv> {
  const app = new Hono<LoginEnv>({ getPath: (_request, options) => options?.env?.path || "/" });
  app.use(async ({ env: context }, next) => {
    const wait = retryAfterOf(context, "step", MAX_STEPS);
    if (wait !== undefined) return jsonResponse(RATE_LIMITED, 429, { "retry-after": String(wait) });
    return context.isSuspended ? suspendedResponse(context) : next();
  });
  app.get("/authorize", ({ env }) => beginAuthorize(env));
  app.get("/sign-in", ({ env }) => showSignIn(env));
  app.post("/sign-in", ({ env }) => finishSignIn(env));
  app.get("/callback", ({ env }) => finishSignIn(env));
  app.get("/consent", ({ env }) => showConsent(env));
  app.post("/consent", ({ env }) => handleConsent(env));
  app.post("/token", ({ env }) => handleToken(env));
  app.post("/register", ({ env }) => handleRegister(env));
  app.post("/revoke", ({ env }) => handleRevoke(env));
  app.get("/jwks", ({ env }) => jwksResponse(env));
  app.get("/account", ({ env }) => handleAccount(env));
  app.post("/account", ({ env }) => handleAccount(env));
  for (const path of pathsOf(app)) {
    app.all(path, ({ env }) => errorPageResponse(env, "This page does not accept this method", undefined, 405));
  }
  app.notFound(({ env }) => errorPageResponse(env, "This page does not exist", undefined, 404));
  app.onError((error, { env: context }) =>
    PROGRAM_PATHS.includes(context.path) ? oauthErrorResponse(context, error) : unavailablePageResponse(context, error),
  );
  return app;
}

function pathsOf({ routes }: Hono<LoginEnv>): readonly string[] {
  return [...new Set(routes.map(({ path }) => path))].filter((path) => path !== "/*");
}

const server = createServer();
/** Paths below the issuer. */
export const LOGIN_PATHS = pathsOf(server);

export function handleLogin(context: LoginContext): Response | Promise<Response> {
  return server.fetch(context.request, context);
}

/** Programs get an OAuth error: with any other error they would drop their login. */
function suspendedResponse(context: LoginContext): Response {
  const why = "Not available right now";
  if (PROGRAM_PATHS.includes(context.path)) return oauthErrorResponse(context, unavailableError(why, 60));
  return errorPageResponse(context, why, "Try again later, or ask the operator of this server.", 503);
}

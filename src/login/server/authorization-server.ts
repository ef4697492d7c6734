// A tenant's authorization server as a Hono app: its routes below the issuer, and what every request meets before them.

import { Hono } from "hono/tiny";
import { jwksOf } from "../identity/jwks.ts";
import type { LoginVisit } from "../login-visit.ts";
import { account } from "./account.ts";
import { answerJson, awayFor, oauthErrorFor, refusePerson, unavailablePage } from "./answers.ts";
import { waitOf } from "./find-client.ts";
import { answerToken, answerRevoke } from "./token-endpoint.ts";
import { register } from "./register.ts";
import { beginAuthorize, consent, finishSignIn, showConsent, showSignIn } from "./sign-in-steps.ts";

/** Of one address in a minute: nearly each step asks the object that grants the tenant's leases, whoever takes it. */
const MOST_STEPS = 1200;
const TOO_OFTEN = { error: "temporarily_unavailable", error_description: "too many requests from this address" };

/** For programs, whose pages of any origin may read the answer: nothing here goes by a cookie. */
export const PROGRAM_PATHS: readonly string[] = ["/token", "/register", "/revoke", "/jwks"];

/** The visit stands where Hono has the bindings of a Worker. */
interface Served {
  Bindings: LoginVisit;
}

function createServer(): Hono<Served> {
  const app = new Hono<Served>({ getPath: (_request, options) => options?.env?.path || "/" });
  app.use(async ({ env: visit }, next) => {
    const wait = waitOf(visit, "step", MOST_STEPS);
    if (wait !== undefined) return answerJson(TOO_OFTEN, 429, { "retry-after": String(wait) });
    return visit.isSuspended ? notNow(visit) : next();
  });
  app.get("/authorize", ({ env }) => beginAuthorize(env));
  app.get("/sign-in", ({ env }) => showSignIn(env));
  app.post("/sign-in", ({ env }) => finishSignIn(env));
  app.get("/callback", ({ env }) => finishSignIn(env));
  app.get("/consent", ({ env }) => showConsent(env));
  app.post("/consent", ({ env }) => consent(env));
  app.post("/token", ({ env }) => answerToken(env));
  app.post("/register", ({ env }) => register(env));
  app.post("/revoke", ({ env }) => answerRevoke(env));
  app.get("/jwks", ({ env }) => jwksOf(env));
  app.get("/account", ({ env }) => account(env));
  app.post("/account", ({ env }) => account(env));
  for (const path of pathsOf(app)) {
    app.all(path, ({ env }) => refusePerson(env, "This is asked for in another way", undefined, 405));
  }
  app.notFound(({ env }) => refusePerson(env, "There is nothing here", undefined, 404));
  app.onError((error, { env: visit }) =>
    PROGRAM_PATHS.includes(visit.path) ? oauthErrorFor(visit, error) : unavailablePage(visit, error),
  );
  return app;
}

function pathsOf({ routes }: Hono<Served>): readonly string[] {
  return [...new Set(routes.map(({ path }) => path))].filter((path) => path !== "/*");
}

const server = createServer();
/** Below the issuer. */
export const LOGIN_PATHS = pathsOf(server);

export function answerLogin(visit: LoginVisit): Response | Promise<Response> {
  return server.fetch(visit.request, visit);
}

/** To a program as an error of OAuth: by any other it would take its login for lost. */
function notNow(visit: LoginVisit): Response {
  const why = "Not available right now";
  if (PROGRAM_PATHS.includes(visit.path)) return oauthErrorFor(visit, awayFor(why, 60));
  return refusePerson(visit, why, "Try again later, or ask whoever runs this server.", 503);
}

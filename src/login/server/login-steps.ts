// Owns which step a visit to a tenant's authorization server takes, by path and method.

import { jwksOf } from "../identity/jwks.ts";
import type { LoginVisit } from "../login-visit.ts";
import { account } from "./account.ts";
import { answerJson, awayFor, orOAuthError, orPage, refusePerson } from "./answers.ts";
import { waitOf } from "./find-client.ts";
import { answerToken } from "./redeem.ts";
import { register } from "./register.ts";
import { answerRevoke } from "./revoke.ts";
import { beginAuthorize, consent, finishSignIn, showConsent, showSignIn } from "./sign-in-steps.ts";

/** Of one address in a minute: nearly each step asks the object that grants the tenant's leases, whoever takes it. */
const MOST_STEPS = 1200;

type Step = (visit: LoginVisit) => Response | Promise<Response>;

const forProgram =
  (step: (visit: LoginVisit) => Promise<Response>): Step =>
  (visit) =>
    orOAuthError(visit, () => step(visit));

const STEPS: Readonly<Record<string, Step>> = {
  "GET /authorize": beginAuthorize,
  "GET /sign-in": showSignIn,
  "POST /sign-in": finishSignIn,
  "GET /callback": finishSignIn,
  "GET /consent": showConsent,
  "POST /consent": consent,
  "POST /token": forProgram(answerToken),
  "POST /register": forProgram(register),
  "POST /revoke": forProgram(answerRevoke),
  "GET /jwks": jwksOf,
  "GET /account": account,
  "POST /account": account,
};

/** All of them, as paths below the issuer. */
export const LOGIN_PATHS: readonly string[] = [...new Set(Object.keys(STEPS).map((step) => step.split(" ")[1] ?? ""))];
/** For programs, whose pages of any origin may read the answer: nothing here goes by a cookie. */
export const PROGRAM_PATHS: readonly string[] = ["/token", "/register", "/revoke", "/jwks"];

const TOO_OFTEN = { error: "temporarily_unavailable", error_description: "too many requests from this address" };

export async function takeStep(visit: LoginVisit): Promise<Response> {
  const { request, path } = visit;
  const method = request.method === "HEAD" ? "GET" : request.method;
  const step = STEPS[`${method} ${path}`];
  const wait = waitOf(visit, "step", MOST_STEPS);
  if (wait !== undefined) return answerJson(TOO_OFTEN, 429, { "retry-after": String(wait) });
  if (visit.isSuspended) return notNow(visit);
  if (step) return orPage(visit, () => step(visit));
  const isThere = LOGIN_PATHS.includes(path);
  return refusePerson(
    visit,
    isThere ? "This is asked for in another way" : "There is nothing here",
    undefined,
    isThere ? 405 : 404,
  );
}

/** To a program as an error of OAuth: by any other it would take its login for lost. */
function notNow(visit: LoginVisit): Response | Promise<Response> {
  const why = "Not available right now";
  if (!PROGRAM_PATHS.includes(visit.path)) {
    return refusePerson(visit, why, "Try again later, or ask whoever runs this server.", 503);
  }
  return orOAuthError(visit, () => Promise.reject(awayFor(why, 60)));
}

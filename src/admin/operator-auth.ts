// Authenticates callers of the admin API and authorizes them for a route. Operators are looked up at every request,
// so a removed operator loses access at once. A person who signed in elsewhere keeps the access in their token until
// it expires.

import { hashToken, keyIdOf } from "../auth/api-key.ts";
import { insecureTransportError } from "../auth/origin.ts";
import { parseBearer } from "../auth/principal.ts";
import type { OperatorCaller, OperatorSignIn, OperatorContext } from "../deployment/operator-sign-in.ts";
import { RateLimiter } from "../limits/rate-limiter.ts";
import { LruMap } from "../limits/lru-map.ts";
import { AppError } from "../protocol/app-error.ts";
import { createRpcClient } from "../tenants/object/store.ts";
import { limitTries } from "./tenant-key-auth.ts";
import { operatorStore } from "./platform/operator-store.ts";
import { missingOwnerToken, OWNER_TOKENS, weakTokenMessage, tokenWeakness } from "./owner-tokens.ts";
import { platformStubOf } from "./platform/platform-object.ts";
import { ProblemError } from "./problem.ts";
import type { AdminEnv, AdminOptions, Route } from "./route.ts";

/** Names that the audit log uses for callers without an operator record. No operator may have one. */
export const RESERVED_NAMES: readonly string[] = [...OWNER_TOKENS.map(({ caller }) => caller.name), "code"];

/**
 * Counts tokens that this isolate does not know yet: each costs a call to the platform object. Bound: the limiter's
 * own, by address.
 */
const limiter = new RateLimiter();
/**
 * Hashes of known operator tokens. They are not counted, so operators keep access from an address that tries too
 * often. Bound: 1,000.
 */
const knownTokenHashes = new LruMap<boolean>(1000);

/** Recognizes a token for the admin API's own sign-in. Keys contain no dots. */
const JWT = /^[\w-]+\.[\w-]+\.[\w-]*$/;

/** The feature that signs people in, and its context; undefined: the Worker has no such feature. */
export function operatorSignInOf(
  { features = [], onError }: AdminOptions,
  env: AdminEnv,
): { readonly signIn: OperatorSignIn; readonly context: OperatorContext } | undefined {
  const signIn = features.find(({ operators }) => operators)?.operators;
  return (
    signIn && {
      signIn,
      context: { env: env as unknown as OperatorContext["env"], onError: (error) => onError?.(error) },
    }
  );
}

/**
 * Throws `unauthorized` for a token that is missing, unknown or expired, `plain-http` for any token over plain HTTP,
 * and `limited` for an address that tries too often.
 */
export async function authenticateOperator(
  request: Request,
  { env, options }: { readonly env: AdminEnv; readonly options: AdminOptions },
): Promise<OperatorCaller> {
  if (insecureTransportError(request)) throw new ProblemError("plain-http");
  const token = parseBearer(request.headers.get("authorization"));
  const missingTokenHint = missingOwnerToken(env);
  if (token === null) throw unauthorized(missingTokenHint ?? "Authorization: Bearer TOKEN is missing");
  const hash = await hashToken(token);
  const owner = await ownerByToken(hash, env);
  if (owner) return owner;
  const operatorSignIn = JWT.test(token) ? operatorSignInOf(options, env) : undefined;
  if (operatorSignIn) return authenticateWithSignIn(token, operatorSignIn);
  if (keyIdOf(token, "operator") === undefined) throw unauthorized(missingTokenHint ?? "The token is not known");
  if (!knownTokenHashes.get(hash)) limitTries(limiter, request);
  const operator = await createRpcClient(platformStubOf(env), operatorStore).operatorByHash(hash);
  if (operator || knownTokenHashes.get(hash)) knownTokenHashes.set(hash, operator !== null);
  if (!operator) throw unauthorized("The token is not known");
  if (operator.expires !== null && Date.parse(operator.expires) <= Date.now())
    throw unauthorized("The token has expired");
  return {
    name: operator.name,
    role: operator.role,
    tenants: operator.role === "tenant-admin" ? (operator.tenants ?? []) : null,
  };
}

async function authenticateWithSignIn(
  token: string,
  { signIn, context }: NonNullable<ReturnType<typeof operatorSignInOf>>,
): Promise<OperatorCaller> {
  const result = await signIn.resolveOperator(token, context);
  if (result.kind === "operator") return result.operator;
  if (result.kind === "refused") throw unauthorized(`The token is not accepted: ${result.why}`);
  const message = "The authorization server of this token cannot be reached at the moment";
  throw new AppError("busy", { message, retryAfter: 5 });
}

/** Only the holder of a weak token learns that it is weak. */
async function ownerByToken(hash: string, env: AdminEnv): Promise<OperatorCaller | undefined> {
  for (const owner of OWNER_TOKENS) {
    const token = env[owner.variable];
    if (!(await matchesSecret(hash, token))) continue;
    const weakness = tokenWeakness(token ?? "");
    if (weakness !== undefined) throw unauthorized(weakTokenMessage(owner, weakness));
    return owner.caller;
  }
  return undefined;
}

/** Compares hashes, so that the duration reveals nothing about the secret. */
async function matchesSecret(hash: string, secret: string | undefined): Promise<boolean> {
  return secret !== undefined && secret !== "" && hash === (await hashToken(secret));
}

function unauthorized(detail: string): ProblemError {
  return new ProblemError("unauthorized", { detail, headers: { "www-authenticate": 'Bearer realm="tenantry admin"' } });
}

/** Throws `forbidden` if the caller's role or tenants do not allow the route. */
export function authorizeRoute(caller: OperatorCaller, route: Route, params: Readonly<Record<string, string>>): void {
  if (!route.roles.includes(caller.role)) {
    throw new ProblemError("forbidden", { detail: `Allowed roles: ${route.roles.join(", ")}` });
  }
  // The answer is the same whether the tenant exists or not: a tenant-admin must not learn which other tenants exist.
  if (caller.tenants !== null && params["id"] !== undefined && !caller.tenants.includes(params["id"])) {
    throw new ProblemError("forbidden", { detail: "This tenant is not one of yours" });
  }
}

// Owns who calls the admin API and what they may: from a token to a caller, and from a caller's role to a route. An
// operator is looked up at every request, so that one who was removed is out at once; who signed in elsewhere has what
// their token says, until it ends.

import { hashToken, keyIdOf } from "../auth/api-key.ts";
import { exposedBy } from "../auth/origin.ts";
import { bearerOf } from "../auth/principal.ts";
import type { OperatorCaller, OperatorSignIn, OperatorGround } from "../deployment/operator-sign-in.ts";
import { Limiter } from "../limits/limiter.ts";
import { RecentMap } from "../limits/recent-map.ts";
import { AppError } from "../protocol/app-error.ts";
import { remote } from "../tenants/authority/tables.ts";
import { countTry } from "./key-login.ts";
import { operatorTables } from "./platform/operator-tables.ts";
import { lackOfOwnerToken, OWNER_TOKENS, weakToken, weaknessOf } from "./owner-tokens.ts";
import { platformOf } from "./platform/platform-door.ts";
import { ProblemError } from "./problem.ts";
import type { AdminEnv, AdminOptions, Route } from "./route.ts";

/** Names that the audit log uses for callers without an operator's record: no operator may have one. */
export const RESERVED_NAMES: readonly string[] = [...OWNER_TOKENS.map(({ caller }) => caller.name), "code"];

/** Of tokens that nobody knew here so far: the platform's object is asked about each. Bound: the limiter's own, by address. */
const limiter = new Limiter();
/** Hashes of operators' tokens. These are not counted: behind an address that tries too often, operators go on. Bound: 1,000. */
const known = new RecentMap<boolean>(1000);

/** As the admin API's own sign-in sees it: no key has dots. */
const JWT = /^[\w-]+\.[\w-]+\.[\w-]*$/;

/** Who is asked about people, and with what; undefined: the Worker has no feature that knows them. */
export function signInOf(
  { features = [], onError }: AdminOptions,
  env: AdminEnv,
): { readonly signIn: OperatorSignIn; readonly ground: OperatorGround } | undefined {
  const signIn = features.find(({ operators }) => operators)?.operators;
  return (
    signIn && { signIn, ground: { env: env as unknown as OperatorGround["env"], onError: (error) => onError?.(error) } }
  );
}

/** Throws `unauthorized` for a token that is missing, unknown or expired, and by plain http for any; `limited` for who tries too often. */
export async function authenticate(
  request: Request,
  { env, options }: { readonly env: AdminEnv; readonly options: AdminOptions },
): Promise<OperatorCaller> {
  if (exposedBy(request)) throw new ProblemError("plain-http");
  const token = bearerOf(request.headers.get("authorization"));
  const lack = lackOfOwnerToken(env);
  if (token === null) throw refused(lack ?? "Authorization: Bearer TOKEN is missing");
  const hash = await hashToken(token);
  const owner = await ownerOf(hash, env);
  if (owner) return owner;
  const people = JWT.test(token) ? signInOf(options, env) : undefined;
  if (people) return signedIn(token, people);
  if (keyIdOf(token, "operator") === undefined) throw refused(lack ?? "The token is not known");
  if (!known.get(hash)) countTry(limiter, request);
  const operator = await remote(platformOf(env), operatorTables).operatorByHash(hash);
  if (operator || known.get(hash)) known.set(hash, operator !== null);
  if (!operator) throw refused("The token is not known");
  if (operator.expires !== null && Date.parse(operator.expires) <= Date.now()) throw refused("The token has expired");
  return {
    name: operator.name,
    role: operator.role,
    tenants: operator.role === "tenant-admin" ? (operator.tenants ?? []) : null,
  };
}

async function signedIn(
  token: string,
  { signIn, ground }: NonNullable<ReturnType<typeof signInOf>>,
): Promise<OperatorCaller> {
  const found = await signIn.operatorOf(token, ground);
  if (found.kind === "operator") return found.operator;
  if (found.kind === "refused") throw refused(`The token is not accepted: ${found.why}`);
  const message = "The authorization server of this token cannot be read right now";
  throw new AppError("busy", { message, retryAfter: 5 });
}

/** Only who has a weak token is told that it is one. */
async function ownerOf(hash: string, env: AdminEnv): Promise<OperatorCaller | undefined> {
  for (const owner of OWNER_TOKENS) {
    const token = env[owner.variable];
    if (!(await isSecret(hash, token))) continue;
    const weakness = weaknessOf(token ?? "");
    if (weakness !== undefined) throw refused(weakToken(owner, weakness));
    return owner.caller;
  }
  return undefined;
}

/** Compares hashes, so that the time it takes tells nothing about the secret. */
async function isSecret(hash: string, secret: string | undefined): Promise<boolean> {
  return secret !== undefined && secret !== "" && hash === (await hashToken(secret));
}

function refused(detail: string): ProblemError {
  return new ProblemError("unauthorized", { detail, headers: { "www-authenticate": 'Bearer realm="tenantry admin"' } });
}

/** Throws `forbidden` where the caller's role or tenants do not allow the route. */
export function authorize(caller: OperatorCaller, route: Route, params: Readonly<Record<string, string>>): void {
  if (!route.roles.includes(caller.role)) {
    throw new ProblemError("forbidden", { detail: `This takes one of the roles ${route.roles.join(", ")}` });
  }
  // The same answer whether the tenant exists or not: they must not learn which others do.
  if (caller.tenants !== null && params["id"] !== undefined && !caller.tenants.includes(params["id"])) {
    throw new ProblemError("forbidden", { detail: "This tenant is not one of yours" });
  }
}

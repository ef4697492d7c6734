// Owns who calls the admin API and what they may: from a token to a caller, and from a caller's role to a route. An
// operator is looked up at every request, so that one who was removed is out at once.

import { hashToken, keyIdOf } from "../auth/api-key.ts";
import { bearerOf } from "../auth/principal.ts";
import { remote } from "../tenants/authority/tables.ts";
import { operatorTables } from "./platform/operator-tables.ts";
import { OWNER_TOKENS, weakToken, weaknessOf } from "./owner-tokens.ts";
import { platformOf } from "./platform/platform-object.ts";
import { ProblemError } from "./problem.ts";
import type { AdminEnv, Caller, Route } from "./route.ts";

/** Names that the audit log uses for callers without an operator's record: no operator may have one. */
export const RESERVED_NAMES: readonly string[] = [...OWNER_TOKENS.map(({ caller }) => caller.name), "code"];

/** Throws `unauthorized` for a token that is missing, unknown or expired. */
export async function authenticate(request: Request, env: AdminEnv): Promise<Caller> {
  const token = bearerOf(request.headers.get("authorization"));
  if (token === null) throw refused("Authorization: Bearer TOKEN is missing");
  const hash = await hashToken(token);
  const owner = await ownerOf(hash, env);
  if (owner) return owner;
  const operator =
    keyIdOf(token, "operator") === undefined
      ? null
      : await remote(platformOf(env), operatorTables).operatorByHash(hash);
  if (!operator) throw refused("The token is not known");
  if (operator.expires !== null && Date.parse(operator.expires) <= Date.now()) throw refused("The token has expired");
  return {
    name: operator.name,
    role: operator.role,
    tenants: operator.role === "tenant-admin" ? (operator.tenants ?? []) : null,
  };
}

/** Only who has a weak token is told that it is one. */
async function ownerOf(hash: string, env: AdminEnv): Promise<Caller | undefined> {
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
export function authorize(caller: Caller, route: Route, params: Readonly<Record<string, string>>): void {
  if (!route.roles.includes(caller.role)) {
    throw new ProblemError("forbidden", { detail: `This takes one of the roles ${route.roles.join(", ")}` });
  }
  // The same answer whether the tenant exists or not: they must not learn which others do.
  if (caller.tenants !== null && params["id"] !== undefined && !caller.tenants.includes(params["id"])) {
    throw new ProblemError("forbidden", { detail: "This tenant is not one of yours" });
  }
}

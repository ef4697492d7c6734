// Converts the claims of a verified token into an operator, with a role and a name for the audit log. Rejects tokens
// that live longer than a day, because they cannot be revoked.

import { JWT_LEEWAY_S, type JwtClaims } from "../../auth/jwt.ts";
import { OPERATOR_ROLES, type OperatorRole, type OperatorResult } from "../../deployment/operator-sign-in.ts";
import { claimValuesOf } from "../claims.ts";
import type { OperatorConfig } from "./operator-config.ts";

const MAX_LIFETIME_S = 86_400;
const MAX_LABEL = 100;
/** Characters that would end a part of a name or affect its display. */
const UNSAFE = /[\p{C}\p{Z}()%]/gu;

/** `now`: milliseconds since the epoch. */
export function operatorFromClaims(claims: JwtClaims, config: OperatorConfig, now: number): OperatorResult {
  const { exp, iat, email_verified: isVerified } = claims;
  const issuedAt = Math.min(typeof iat === "number" ? iat : Infinity, now / 1000);
  if (exp - issuedAt > MAX_LIFETIME_S + JWT_LEEWAY_S) return rejectSignIn("its lifetime is longer than a day");
  // An unverified address gives no role: a person can write any address into their profile.
  const values = config.claim === "email" && String(isVerified) === "false" ? [] : claimValuesOf(claims, config.claim);
  const roles = values.map((value) => config.roles.get(value));
  const tenantIds = roles.flatMap((one) => (Array.isArray(one) ? (one as readonly string[]) : []));
  const role = OPERATOR_ROLES.find((one) => roles.includes(one)) ?? (tenantIds.length > 0 ? "tenant-admin" : undefined);
  if (role === undefined) return rejectSignIn(`its claim ${config.claim} has no value with a role in OPERATORS`);
  const tenants = role === "tenant-admin" ? [...new Set(tenantIds)] : null;
  return { kind: "operator", operator: { name: operatorNameOf(claims, role, config), role, tenants } };
}

export function rejectSignIn(why: string): OperatorResult {
  return { kind: "refused", why };
}

/**
 * The person controls only the part in brackets. The name contains spaces, so it never equals the name of an operator's
 * record.
 */
function operatorNameOf(claims: JwtClaims, role: OperatorRole, { issuer }: OperatorConfig): string {
  const { email, preferred_username: username, name, sub } = claims;
  const displayName = [email, username, name].find((one) => typeof one === "string" && one !== "") as
    | string
    | undefined;
  const label = displayName === undefined ? "" : ` (${displayName.slice(0, MAX_LABEL).replaceAll(UNSAFE, " ")})`;
  return `${role} ${issuer} ${sub.replaceAll(UNSAFE, (one) => `%${one.charCodeAt(0).toString(16)}`)}${label}`;
}

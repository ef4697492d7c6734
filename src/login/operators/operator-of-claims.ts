// Owns what the claims of a verified token make of its bearer: an operator with a role and a name for the audit log, or
// nobody. Refuses tokens that live long: nobody takes one back before it ends. Pure.

import { JWT_LEEWAY_S, type JwtClaims } from "../../auth/jwt.ts";
import { OPERATOR_ROLES, type OperatorRole, type FoundOperator } from "../../deployment/operator-sign-in.ts";
import { valuesOf } from "../claims.ts";
import type { OperatorConfig } from "./operator-config.ts";

const LONGEST_S = 86_400;
const MOST_OF_LABEL = 100;
/** What would end a part of a name, or steer whoever shows it. */
const UNSAFE = /[\p{C}\p{Z}()%]/gu;

/** `now`: milliseconds since the epoch. */
export function operatorOfClaims(claims: JwtClaims, config: OperatorConfig, now: number): FoundOperator {
  const { exp, iat, email_verified: isVerified } = claims;
  const began = Math.min(typeof iat === "number" ? iat : Infinity, now / 1000);
  if (exp - began > LONGEST_S + JWT_LEEWAY_S) return refusedSignIn("it lives longer than a day");
  // Whoever may write any address into their profile would have its role.
  const values = config.claim === "email" && String(isVerified) === "false" ? [] : valuesOf(claims, config.claim);
  const roles = values.map((value) => config.roles.get(value));
  const own = roles.flatMap((one) => (Array.isArray(one) ? (one as readonly string[]) : []));
  const role = OPERATOR_ROLES.find((one) => roles.includes(one)) ?? (own.length > 0 ? "tenant-admin" : undefined);
  if (role === undefined) return refusedSignIn(`no value of its claim ${config.claim} has a role here`);
  const tenants = role === "tenant-admin" ? [...new Set(own)] : null;
  return { kind: "operator", operator: { name: nameOf(claims, role, config), role, tenants } };
}

export function refusedSignIn(why: string): FoundOperator {
  return { kind: "refused", why };
}

/** Nobody can choose what stands before the bracket. With blanks in it, it is the name of no operator's record. */
function nameOf(claims: JwtClaims, role: OperatorRole, { issuer }: OperatorConfig): string {
  const { email, preferred_username: username, name, sub } = claims;
  const called = [email, username, name].find((one) => typeof one === "string" && one !== "") as string | undefined;
  const label = called === undefined ? "" : ` (${called.slice(0, MOST_OF_LABEL).replaceAll(UNSAFE, " ")})`;
  return `${role} ${issuer} ${sub.replaceAll(UNSAFE, (one) => `%${one.charCodeAt(0).toString(16)}`)}${label}`;
}

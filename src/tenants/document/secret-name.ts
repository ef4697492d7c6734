// Owns the names of a tenant's secrets: in the tenant's own list, and among the Worker's secrets, one of which stands
// in where the tenant has none of its own. Pure.

export const MAX_SECRET_NAME = 64;

/** A name has no "__", so the last one in a Worker secret's name ends the tenant's part: no two pairs share a name. */
const SHAPE = /^[A-Za-z0-9]+(?:_[A-Za-z0-9]+)*$/;
export const SECRET_NAME_RULE = `1 to ${MAX_SECRET_NAME} of A-Z, 0-9 and single inner _`;

/** The name in upper case; undefined for a text that is no name of a secret. */
export function secretNameOf(text: string): string | undefined {
  return text.length <= MAX_SECRET_NAME && SHAPE.test(text) ? text.toUpperCase() : undefined;
}

/** The Worker's own secret `TENANT__NAME`; undefined where there is none. */
export function workerSecretOf(env: unknown, tenant: string, name: string): string | undefined {
  const key = `${tenant.replaceAll("-", "_")}__${name}`.toUpperCase();
  const value = typeof env === "object" && env !== null ? (env as Readonly<Record<string, unknown>>)[key] : undefined;
  return typeof value === "string" ? value : undefined;
}

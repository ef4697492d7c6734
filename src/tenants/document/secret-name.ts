// Owns how a tenant's secret is called: in its own list, and among the Worker's secrets, where it stands in when the tenant
// has none of its own. Pure.

export const MAX_SECRET_NAME = 64;

/** Without "__" in it, the last one in a Worker secret's name is where the tenant ends: no two pairs share a name. */
const SHAPE = /^[A-Za-z0-9]+(?:_[A-Za-z0-9]+)*$/;
export const SECRET_NAME_RULE = `1 to ${MAX_SECRET_NAME} of A-Z, 0-9 and single inner _`;

/** Case does not matter; undefined: no name of a secret. */
export function secretNameOf(text: string): string | undefined {
  return text.length <= MAX_SECRET_NAME && SHAPE.test(text) ? text.toUpperCase() : undefined;
}

export function workerSecretOf(env: unknown, tenant: string, name: string): string | undefined {
  const key = `${tenant.replaceAll("-", "_")}__${name}`.toUpperCase();
  const value = typeof env === "object" && env !== null ? (env as Readonly<Record<string, unknown>>)[key] : undefined;
  return typeof value === "string" ? value : undefined;
}

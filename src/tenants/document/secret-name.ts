// Names of tenant secrets. A Worker secret named after the tenant stands in for a secret that the tenant does not have.

const MAX_SECRET_NAME = 64;

/**
 * A name has no "__". So the last "__" in a Worker secret's name ends the tenant's part, and no two pairs share a name.
 */
const SHAPE = /^[A-Za-z0-9]+(?:_[A-Za-z0-9]+)*$/;
export const SECRET_NAME_RULE = `1 to ${MAX_SECRET_NAME} of A-Z, 0-9 and single inner _`;

/** The name in upper case; undefined if the text is not a valid secret name. */
export function secretNameOf(text: string): string | undefined {
  return text.length <= MAX_SECRET_NAME && SHAPE.test(text) ? text.toUpperCase() : undefined;
}

/** The Worker secret `TENANT__NAME`; undefined if there is none. */
export function workerSecretOf(env: unknown, tenant: string, name: string): string | undefined {
  const key = `${tenant.replaceAll("-", "_")}__${name}`.toUpperCase();
  const value = typeof env === "object" && env !== null ? (env as Readonly<Record<string, unknown>>)[key] : undefined;
  return typeof value === "string" ? value : undefined;
}

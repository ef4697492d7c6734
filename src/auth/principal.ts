// Owns who calls: what a principal is, and reading the credential a request brings. What the credential is worth, the
// tenant's authority says.

export interface Principal {
  readonly kind: "anonymous" | "key" | "oauth";
  /** Stable and unique within the tenant: what sealed things are bound to. */
  readonly id: string;
  readonly subject: string | undefined;
  /** Names of the tenant's scopes; undefined: none apply. */
  readonly scopes: readonly string[] | undefined;
  readonly claims: Readonly<Record<string, unknown>>;
}

export const ANONYMOUS: Principal = {
  kind: "anonymous",
  id: "anonymous",
  subject: undefined,
  scopes: undefined,
  claims: {},
};

/** What a key is called wherever principals are named. */
export function keyPrincipalId(key: string): string {
  return `key ${key}`;
}

/** RFC 6750, section 2.1. The scheme's case does not matter. */
export function bearerOf(authorization: string | null): string | null {
  if (authorization === null) return null;
  return /^Bearer +([A-Za-z0-9\-._~+/]+=*) *$/i.exec(authorization)?.[1] ?? "";
}

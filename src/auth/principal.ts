// Owns what a principal is (whoever calls), and reading a bearer token from a header. Refuses to say what a token is
// worth: the tenant's authority does.

export interface Principal {
  readonly kind: "anonymous" | "key" | "oauth";
  /** Stable and unique within the tenant: session ids and request states are bound to it. */
  readonly id: string;
  readonly subject: string | undefined;
  /** Names of the tenant's scopes, which limit what the principal sees; undefined: nothing limits it. */
  readonly scopes: readonly string[] | undefined;
  readonly claims: Readonly<Record<string, unknown>>;
}

/** Somebody whom an authorization server named, until that ends. */
export interface Person extends Principal {
  readonly kind: "oauth";
  readonly issuer: string;
  /** Milliseconds since the epoch. */
  readonly expires: number;
}

export const ANONYMOUS: Principal = {
  kind: "anonymous",
  id: "anonymous",
  subject: undefined,
  scopes: undefined,
  claims: {},
};

/** The principal's id for the API key with this id. */
export function keyPrincipalId(key: string): string {
  return `key ${key}`;
}

/** null without a header, "" where it holds no bearer token. The scheme may be in any case; RFC 6750, section 2.1. */
export function bearerOf(authorization: string | null): string | null {
  if (authorization === null) return null;
  return /^Bearer +([A-Za-z0-9\-._~+/]+=*) *$/i.exec(authorization)?.[1] ?? "";
}

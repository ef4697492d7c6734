// The principal (the identity of a caller), and parsing of bearer tokens. The tenant object decides what a token is
// worth.

/** The caller of a request. Handlers read it as `ctx.principal`. */
export interface Principal {
  /**
   * `key`: an API key. `oauth`: a user whom an authorization server authenticated. `app`: a user of the app that mounts
   * the Worker. `worker`: the Worker's own code, outside a call.
   */
  readonly kind: "anonymous" | "key" | "oauth" | "app" | "worker";
  /** Stable and unique within the tenant: session ids and request states are bound to it. */
  readonly id: string;
  /** The user's identifier at the issuer or in the app; for a key, the key's name. */
  readonly subject: string | undefined;
  /** For a user, if the issuer or the app named one. Only `subject` identifies a user permanently. */
  readonly email?: string | undefined;
  readonly name?: string | undefined;
  readonly groups?: readonly string[] | undefined;
  /** Names of the tenant's scopes, which limit what the principal sees; undefined: no limit. */
  readonly scopes: readonly string[] | undefined;
  /** Further claims of the issuer or the app; empty for keys and anonymous callers. */
  readonly claims: Readonly<Record<string, unknown>>;
  readonly narrowing?: ToolRestrictions | undefined;
}

/** The tools that a user excluded when granting a client access, by the names in the endpoint's view. */
export interface ToolRestrictions {
  /** Tools that are neither shown nor callable. A tool that is renamed later is still excluded. */
  readonly deny: readonly string[];
  /** Only these tools. Absent: also tools that are added later. */
  readonly allow?: readonly string[];
  /** No prompts and no resources. */
  readonly toolsOnly?: boolean;
}

/** A user whom an authorization server authenticated, until `expires`. */
export interface OAuthPrincipal extends Principal {
  readonly kind: "oauth";
  readonly issuer: string;
  /**
   * The grant under which the user calls, if the tenant's own authorization server issued it. The provider's tokens are
   * stored under it.
   */
  readonly grant?: string | undefined;
  /** The tenant's own issuer, by the URL that the user reaches; tokens that the tenant signs for the user name it. */
  readonly tenantIssuer?: string | undefined;
  /** The URL of the one endpoint that such a grant is for. */
  readonly resource?: string;
  /** The token's OAuth scopes that have a meaning here; absent in data stored by an older release. */
  readonly granted?: readonly string[];
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

/** The principal that an API key stands for. */
export function keyPrincipal({
  id,
  name,
  scopes,
}: {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly string[] | null;
}): Principal {
  return { kind: "key", id: keyPrincipalId(id), subject: name, scopes: scopes ?? undefined, claims: {} };
}

/**
 * The principal that the Worker's own code acts for, outside a call. The id's prefix cannot occur in the ids of keys
 * and users.
 */
export function workerPrincipal(name: string, about: Partial<Pick<Principal, "subject" | "scopes">> = {}): Principal {
  const { subject, scopes } = about;
  return { kind: "worker", id: `worker ${name}`, subject, scopes, claims: {} };
}

/**
 * Returns null without a header, and "" if the header has no bearer token. The scheme is case-insensitive; RFC 6750,
 * section 2.1.
 */
export function parseBearer(authorization: string | null): string | null {
  if (authorization === null) return null;
  return /^Bearer +([A-Za-z0-9\-._~+/]+=*) *$/i.exec(authorization)?.[1] ?? "";
}

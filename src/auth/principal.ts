// Owns what a principal is (whoever calls), and reading a bearer token from a header. Refuses to say what a token is
// worth: the tenant's authority does.

export interface Principal {
  /** `app`: the app that mounts the Worker named them. `worker`: its own code, outside of a call. */
  readonly kind: "anonymous" | "key" | "oauth" | "app" | "worker";
  /** Stable and unique within the tenant: session ids and request states are bound to it. */
  readonly id: string;
  readonly subject: string | undefined;
  /** Of a person, where whoever named them said it. Only `subject` tells people apart for ever. */
  readonly email?: string | undefined;
  readonly name?: string | undefined;
  readonly groups?: readonly string[] | undefined;
  /** Names of the tenant's scopes, which limit what the principal sees; undefined: nothing limits it. */
  readonly scopes: readonly string[] | undefined;
  readonly claims: Readonly<Record<string, unknown>>;
  readonly narrowing?: ToolRestrictions | undefined;
}

/** What a person left out when they let a client in, under the names that the view of the endpoint gives. */
export interface ToolRestrictions {
  /** Tools that are not to be seen or called; one that is listed under another name later is still meant. */
  readonly deny: readonly string[];
  /** Only these; absent: also tools that come later. */
  readonly allow?: readonly string[];
  /** No prompts and no resources. */
  readonly toolsOnly?: boolean;
}

/** Somebody whom an authorization server named, until that ends. */
export interface OAuthPrincipal extends Principal {
  readonly kind: "oauth";
  readonly issuer: string;
  /** By which they call, where the tenant's own authorization server let them in: under it are the provider's tokens. */
  readonly grant?: string | undefined;
  /** The tenant's own issuer, as they reach it: it stands in tokens that the tenant signs for them. */
  readonly home?: string | undefined;
  /** The one endpoint, as its URL, that such a grant is for. */
  readonly resource?: string;
  /** The OAuth scopes that the token has, of those that mean something here; absent in what an older release stored. */
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

/** Whoever has the API key. */
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

/** Whom the Worker's own code names outside of a call. No key and no issuer's person has an id that begins so. */
export function workerPrincipal(name: string, about: Partial<Pick<Principal, "subject" | "scopes">> = {}): Principal {
  const { subject, scopes } = about;
  return { kind: "worker", id: `worker ${name}`, subject, scopes, claims: {} };
}

/** null without a header, "" where it holds no bearer token. The scheme may be in any case; RFC 6750, section 2.1. */
export function parseBearer(authorization: string | null): string | null {
  if (authorization === null) return null;
  return /^Bearer +([A-Za-z0-9\-._~+/]+=*) *$/i.exec(authorization)?.[1] ?? "";
}

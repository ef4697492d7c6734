// Owns who calls. Until tenants can be protected everybody is anonymous; keys and OAuth subjects become principals here.

export interface Principal {
  readonly kind: "anonymous" | "key" | "oauth";
  /** Stable and unique within the tenant: what sealed things are bound to. */
  readonly id: string;
  readonly subject: string | undefined;
  readonly scopes: readonly string[];
  readonly claims: Readonly<Record<string, unknown>>;
}

export const ANONYMOUS: Principal = { kind: "anonymous", id: "anonymous", subject: undefined, scopes: [], claims: {} };

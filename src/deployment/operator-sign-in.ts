// Operator roles, and the interface by which a feature authenticates operators by more than the platform's own tokens.
// A Worker without such a feature bundles none of it.

/** Widest first, except for the last, which is limited to its tenants. */
export const OPERATOR_ROLES = ["owner", "operator", "auditor", "tenant-admin"] as const;

export type OperatorRole = (typeof OPERATOR_ROLES)[number];

/** An authenticated caller of the admin API. */
export interface OperatorCaller {
  /** The name in the audit log. A name without a space is that of a stored operator or of a Worker variable. */
  readonly name: string;
  readonly role: OperatorRole;
  /** The tenants that the caller may work with; null: all. */
  readonly tenants: readonly string[] | null;
}

/** The settings that a program needs to start a sign-in. Public. */
export interface OperatorClient {
  readonly issuer: string;
  readonly clientId: string;
  readonly scopes: string[];
  /** The audience of access tokens. If absent, callers send an ID token, whose audience is the client. */
  readonly audience?: string;
}

export type OperatorResult =
  | { readonly kind: "operator"; readonly operator: OperatorCaller }
  | { readonly kind: "refused"; readonly why: string }
  /** The result is unknown: the issuer's signing keys cannot be read. */
  | { readonly kind: "unavailable" };

export interface OperatorContext {
  readonly env: Readonly<Record<string, unknown>>;
  readonly onError: (error: unknown) => void;
}

export interface OperatorSignIn {
  /** Returns undefined if operator sign-in is not configured. */
  client(context: OperatorContext): OperatorClient | undefined;
  /** `token` has the form of a JWT. */
  resolveOperator(token: string, context: OperatorContext): Promise<OperatorResult>;
}

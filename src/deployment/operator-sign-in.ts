// Owns the port by which operators are known by more than tokens that the platform made: which roles there are, and what
// the admin API asks of a feature that knows people. A Worker without such a feature has none of it in its bundle.

/** The widest first, but for the last, which is another thing. */
export const OPERATOR_ROLES = ["owner", "operator", "auditor", "tenant-admin"] as const;

export type OperatorRole = (typeof OPERATOR_ROLES)[number];

/** Who calls the admin API. */
export interface OperatorCaller {
  /** As the audit log has it: a name without a blank is a record's, or a variable's of the Worker. */
  readonly name: string;
  readonly role: OperatorRole;
  /** The tenants that the caller may work with; null: all. */
  readonly tenants: readonly string[] | null;
}

/** What a program needs to know to have somebody sign in: public. */
export interface OperatorClient {
  readonly issuer: string;
  readonly clientId: string;
  readonly scopes: string[];
  /** Whom access tokens are for; absent: an ID token is brought, which is for the client. */
  readonly audience?: string;
}

export type OperatorResult =
  | { readonly kind: "operator"; readonly operator: OperatorCaller }
  | { readonly kind: "refused"; readonly why: string }
  /** Nobody can say: the server whose keys are needed cannot be read. */
  | { readonly kind: "unavailable" };

/** What a request to it comes with. */
export interface OperatorContext {
  readonly env: Readonly<Record<string, unknown>>;
  readonly onError: (error: unknown) => void;
}

export interface OperatorSignIn {
  /** undefined: nobody signs in here. */
  client(context: OperatorContext): OperatorClient | undefined;
  /** For a token that has the form of a JWT. */
  resolveOperator(token: string, context: OperatorContext): Promise<OperatorResult>;
}

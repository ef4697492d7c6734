// Owns the shapes of asking for a token as a person: what each way is given, and what it gives.

import type { OAuthPrincipal } from "../../auth/principal.ts";
import type { IdentityContext, RefreshContext } from "../../deployment/deployment.ts";
import type { IdentityDocument } from "../../tenants/document/tenant-document.ts";

export interface IdentityTokenRequest {
  readonly context: IdentityContext;
  /** The same, for what speaks to an authorization server. */
  readonly tenantContext: RefreshContext;
  readonly person: OAuthPrincipal;
  readonly settings: IdentityDocument;
  readonly audience: string;
  readonly scopes: readonly string[];
}

export interface IdentityToken {
  readonly token: string;
  /** When it ends, milliseconds since the epoch. */
  readonly expires: number;
}

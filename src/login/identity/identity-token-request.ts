// The request and result types of every way to get a token for a person.

import type { OAuthPrincipal } from "../../auth/principal.ts";
import type { IdentityContext, RefreshContext } from "../../deployment/deployment.ts";
import type { IdentityDocument } from "../../tenants/document/tenant-document.ts";

export interface IdentityTokenRequest {
  readonly context: IdentityContext;
  /** The same context, in the form that calls to an authorization server need. */
  readonly tenantContext: RefreshContext;
  readonly person: OAuthPrincipal;
  readonly settings: IdentityDocument;
  readonly audience: string;
  readonly scopes: readonly string[];
}

export interface IdentityToken {
  readonly token: string;
  /** Expiry in milliseconds since the epoch. */
  readonly expires: number;
}

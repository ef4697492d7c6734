// The context of an authenticated request to a tenant's authorization server, with everything that its steps need.

import type { Principal } from "../auth/principal.ts";
import type { KeyRing } from "../auth/seal.ts";
import type { View } from "../catalog/view.ts";
import type { RefreshContext } from "../deployment/deployment.ts";
import type { LoginDocument } from "../tenants/document/tenant-document.ts";

/** The URLs of a tenant's login, as the visitor sees them. No URL ends in a slash. */
export interface LoginUrls {
  /** `{base}/login/TENANT`; on a tenant's hostname its origin. */
  readonly issuer: string;
  /** `{base}/account/TENANT`; on a tenant's hostname `/account`. */
  readonly account: string;
  /** The tenant's endpoint without a profile: `{base}/mcp/TENANT`, on a tenant's hostname `/mcp`. */
  readonly endpoint: string;
  /** The default tenant's shared endpoint, `{base}/mcp`; absent for other tenants. */
  readonly shared?: string;
}

export interface LoginContext {
  /** Its body is in `body`. */
  readonly request: Request;
  /** The request's body, at most 64 KiB; empty if there is none. */
  readonly body: string;
  /** The path below the issuer, such as `/authorize`; `/account` for the account page. */
  readonly path: string;
  readonly urls: LoginUrls;
  readonly login: LoginDocument;
  /** The operator's note with the reason is not for visitors. */
  readonly isSuspended: boolean;
  /** The tenant, its document, its tenant object and its secrets. */
  readonly tenantContext: RefreshContext;
  /** The lease's key ring: seals what travels through the browser. */
  readonly ring: KeyRing;
  /** The visitor's address, as limits count it. */
  readonly clientAddress: string;
  /** For work that must finish even if the client disconnects. */
  readonly waitUntil: (work: Promise<unknown>) => void;
  /** The view that a principal would have. */
  readonly viewOf: (profile: string | null, principal: Principal) => View | Promise<View>;
}

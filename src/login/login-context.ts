// Owns a visit to a tenant's authorization server: a request that was let in to it, with all that its steps decide by.
// Refuses protocol: each step has its own file.

import type { Principal } from "../auth/principal.ts";
import type { KeyRing } from "../auth/seal.ts";
import type { View } from "../catalog/view.ts";
import type { RefreshContext } from "../deployment/deployment.ts";
import type { LoginDocument } from "../tenants/document/tenant-document.ts";

/** Where a tenant's login stands, as its visitor sees it. No URL ends in a slash. */
export interface LoginUrls {
  /** `{base}/login/TENANT`; on a tenant's hostname its origin. */
  readonly issuer: string;
  /** `{base}/account/TENANT`; on a tenant's hostname `/account`. */
  readonly account: string;
  /** The tenant's endpoint without a profile: `{base}/mcp/TENANT`, on a tenant's hostname `/mcp`. */
  readonly resource: string;
  /** The same endpoint where it stands for all tenants, `{base}/mcp`; absent: the tenant is not the default one. */
  readonly shared?: string;
}

export interface LoginContext {
  /** Its body is in `body`. */
  readonly request: Request;
  /** What was sent, at most 64 KiB; empty where nothing was. */
  readonly body: string;
  /** What follows the issuer, as `/authorize`; `/account` on the page of grants. */
  readonly path: string;
  readonly urls: LoginUrls;
  readonly login: LoginDocument;
  /** The operator's note says why, and is no visitor's to read. */
  readonly isSuspended: boolean;
  /** The tenant, its document, its authority and its secrets. */
  readonly tenantContext: RefreshContext;
  /** Of the lease: seals what travels through the browser. */
  readonly ring: KeyRing;
  /** The visitor's, as limits know it. */
  readonly clientAddress: string;
  /** For what has to be done to the end, though whoever asked goes away. */
  readonly waitUntil: (work: Promise<unknown>) => void;
  /** What they would see. */
  readonly viewOf: (profile: string | null, principal: Principal) => View | Promise<View>;
}

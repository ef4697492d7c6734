// What the author of a Worker writes as a feature of their own: docs/features.md. What the package's own features do beside that is
// `BuiltInFeature`.

import type { ServerInfo } from "../protocol/definition.ts";
import type { Source } from "../protocol/source.ts";
import type { TenantDocument } from "../tenants/document/tenant-document.ts";

/** A part of a Worker: routes, and tools, prompts and resources for tenants. */
export interface Feature {
  /** Unique in the Worker. */
  readonly name: string;
  readonly routes?: FeatureRoutes | readonly FeatureRoutes[];
  /** Called for each tenant, and again after each change of its document. Listed after the tenant's own. */
  sources?(tenant: FeatureTenant): readonly Source<unknown>[];
}

export interface FeatureRoutes {
  /** Below the Worker's path, as Hono writes it: `/count/*`. Not served on a tenant's own hostname. */
  readonly path: string;
  /** Served on tenants' own hostnames too. */
  readonly onHostnames?: true;
  /** Called once, at the first request for this path: other isolates do not pay for it. */
  open(worker: {
    /** Where the Worker is mounted, such as `/ai`; empty at the root. */
    readonly path: string;
  }): (request: Request, env: Readonly<Record<string, unknown>>, ctx: ExecutionContext) => Response | Promise<Response>;
}

/** The tenant that a feature is asked for its sources for. */
export interface FeatureTenant {
  /** Its id. */
  readonly tenant: string;
  /** Its document, with its base documents and its declaration in code merged in. */
  readonly document: TenantDocument;
  /** How the Worker names itself. */
  readonly server: ServerInfo;
}

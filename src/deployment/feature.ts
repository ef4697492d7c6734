import type { ServerInfo } from "../protocol/definition.ts";
import type { Source } from "../protocol/source.ts";
import type { TenantDocument } from "../tenants/document/tenant-document.ts";

/**
 * A part of a Worker. `admin()`, `gateway()`, `login()`, `links()`, `connectPage()`, `telemetry()`, `usage()`,
 * `callAudit()` and `webhooks()` return one. A feature of your own adds HTTP routes, and tools, prompts and resources
 * for tenants.
 */
export interface Feature {
  /** Unique in the Worker. */
  readonly name: string;
  /** HTTP routes of the feature, below the Worker's path. */
  readonly routes?: FeatureRoutes | readonly FeatureRoutes[];
  /** Called for each tenant, and again after each change of its document. Sources are listed after the tenant's own. */
  sources?(tenant: FeatureTenant): readonly Source<unknown>[];
}

export interface FeatureRoutes {
  /** Path below the Worker's path, in Hono's syntax: `/count/*`. Not served on a tenant's own hostname. */
  readonly path: string;
  /** Also serve the route on tenants' own hostnames. */
  readonly onHostnames?: true;
  /**
   * Creates the handler. Called once per isolate, at the first request for this path, so other isolates do no work for
   * the route.
   */
  open(worker: {
    /** The path under which the Worker is mounted, such as `/ai`; empty at the root. */
    readonly path: string;
  }): (request: Request, env: Readonly<Record<string, unknown>>, ctx: ExecutionContext) => Response | Promise<Response>;
}

/** The tenant whose sources a feature is to create. */
export interface FeatureTenant {
  /** The tenant's id. */
  readonly tenant: string;
  /** The tenant's document, with its base documents and its declaration in code merged in. */
  readonly document: TenantDocument;
  /** How the Worker identifies itself to clients. */
  readonly server: ServerInfo;
}

// Owns what a Worker is made of: what its author wrote, and features. A feature is a value that brings routes, Durable
// Objects, tables and sources; what an author does not import is not in the bundle.

import type { CallHost, Hooks } from "../calls/call-host.ts";
import type { NewResource } from "../calls/resource-store.ts";
import type { Catalog } from "../content/define/catalog.ts";
import type { Source } from "../protocol/source.ts";
import type { Tables } from "../tenants/authority/tables.ts";
import type { TenantStub } from "../tenants/authority/incarnation.ts";
import type { TenantHost } from "../tenants/authority/tenant-host.ts";
import type { Section } from "../tenants/isolate/sections.ts";
import type { Tenant } from "../tenants/document/tenant-definition.ts";
import type { TenantDocument } from "../tenants/document/tenant-document.ts";

/** What one Worker serves. */
export interface Deployment {
  readonly catalog: Catalog;
  readonly tenants: ReadonlyMap<string, Tenant<NewResource>>;
  /** The tenant of `/mcp`. */
  readonly defaultTenant: string | undefined;
  readonly hooks: Hooks;
  /** The path under which it is mounted, such as `/ai`; empty: at the root. */
  readonly path: string;
  readonly features: readonly Feature[];
}

/** A Worker's bindings, untyped here: each part of the Worker knows the types of those that it needs. */
export type Bindings = Readonly<Record<string, unknown>>;

export type Objects = Readonly<Record<string, new (ctx: DurableObjectState, env: never) => object>>;

export interface FeatureRoutes {
  /** Below the Worker's path, as Hono writes it: `/admin/*`. Not served on a tenant's own hostname. */
  readonly path: string;
  /** Called once, at the first request: an isolate that nobody asks for these routes does not pay for them. */
  open(deployment: Deployment): (request: Request, env: Bindings) => Response | Promise<Response>;
}

/** What a feature makes a tenant's sources of. */
export interface SourceGround {
  readonly tenant: string;
  /** The tenant's document with everything under it merged in: its base documents and its declaration in code. */
  readonly document: TenantDocument;
  /** By name: the leased sections that the feature asked for and that could be loaded. */
  readonly sections: ReadonlyMap<string, Section>;
}

/** What is needed to load a tenant's sections. */
export interface SectionGround {
  readonly tenant: string;
  /** What stands for the tenant in the keys of bodies: `keptUnder`. */
  readonly kept: string;
  /** The hash of each section in the tenant's lease, by name. */
  readonly leased: ReadonlyMap<string, string>;
  readonly bodies: KVNamespace;
  /** Makes a stub of the tenant's authority. */
  readonly stub: () => TenantStub;
}

export interface LoadedSections {
  readonly sections: SourceGround["sections"];
  /** false: a section is missing, and the source that is made of it says so. */
  readonly whole: boolean;
}

/** What a feature leases beside the policy; `leasedSections` makes it. */
export interface LeasedSections {
  readonly tables: Tables<object, TenantHost>;
  load(ground: SectionGround): LoadedSections | Promise<LoadedSections>;
}

export interface Feature<Exported extends Objects = Objects> {
  readonly name: string;
  readonly routes?: FeatureRoutes;
  /** Bindings that a request must find. */
  readonly bindings?: readonly string[];
  /** Durable Object classes, by the name under which the Worker exports them. */
  readonly objects?: Exported;
  /** Tables in each tenant's object; they may ask for the object's alarm. */
  readonly tables?: readonly Tables<object, TenantHost>[];
  /** The sections that its sources are made of; a feature without them needs none. */
  readonly sections?: LeasedSections;
  /** Made anew with each version of a tenant's policy, and listed after the tenant's own. */
  sources?(ground: SourceGround): readonly Source<CallHost>[];
}

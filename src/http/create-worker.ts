// Owns `createWorker`: from what an author writes to the Worker's entry, and to everything that the Worker must export.

import type { Hooks } from "../calls/call-host.ts";
import type { NewResource } from "../calls/resource-store.ts";
import type { Prompt } from "../content/define/prompt.ts";
import type { Resource, ResourceTemplate } from "../content/define/resource.ts";
import type { Tool } from "../content/define/tool.ts";
import { contentTables } from "../content/store/content-tables.ts";
import type { Deployment, Feature, Objects } from "../deployment/deployment.ts";
import { mountPath } from "../deployment/mount.ts";
import type { ServerInfo } from "../protocol/definition.ts";
import { SessionObject } from "../sessions/session-object.ts";
import { HubObject } from "../streams/hub-object.ts";
import { authorityTables } from "../tenants/authority/authority-tables.ts";
import { endedTables } from "../tenants/authority/ended-tables.ts";
import { policyTables } from "../tenants/authority/policy-tables.ts";
import { sessionRegister } from "../tenants/authority/session-register.ts";
import { createTenantObject } from "../tenants/authority/tenant-object.ts";
import { DirectoryObject } from "../tenants/directory/directory-object.ts";
import { defineTenants, type TenantDefinition } from "../tenants/document/tenant-definition.ts";
import { createApp } from "./app.ts";
import { createStoredRuns, type StoredRunsClass } from "./stored-runs-entrypoint.ts";
import { VERSION } from "./version.ts";
import type { Env } from "./visit.ts";

export interface WorkerOptions<Features extends readonly Feature[] = readonly Feature[]> {
  /** How the server names itself to clients. */
  readonly name?: string;
  readonly version?: string;
  readonly title?: string;
  readonly description?: string;
  readonly websiteUrl?: string;
  /** Guidance for models, for tenants without their own. */
  readonly instructions?: string;
  readonly tools?: readonly Tool[];
  readonly prompts?: readonly Prompt[];
  readonly resources?: readonly (Resource | ResourceTemplate)[];
  /** By tenant id; one open tenant `demo` with everything when absent. */
  readonly tenants?: Readonly<Record<string, TenantDefinition<NewResource>>>;
  /** The tenant of `/mcp`; the only tenant when there is one. */
  readonly defaultTenant?: string;
  /** The path of somebody's app under which it is mounted, such as `/ai`; at the root when absent. */
  readonly path?: string;
  /** Such as `admin()`. */
  readonly features?: Features;
  readonly hooks?: Hooks;
}

export interface BaseObjects {
  readonly DirectoryObject: typeof DirectoryObject;
  readonly HubObject: typeof HubObject;
  readonly SessionObject: typeof SessionObject;
  readonly TenantObject: ReturnType<typeof createTenantObject<Env>>;
  readonly StoredRuns: StoredRunsClass;
}

type Both<Union> = (Union extends unknown ? (one: Union) => void : never) extends (all: infer All) => void
  ? All
  : never;
type ObjectsOf<Features extends readonly Feature[]> = Both<Features[number] extends Feature<infer O> ? O : never>;

export interface TenantryWorker<Exported extends object> {
  readonly fetch: (request: Request, env: Env, ctx: ExecutionContext) => Response | Promise<Response>;
  /** Everything that the Worker must export beside its entry, by name. */
  readonly exports: Exported;
}

/** A Worker that serves MCP at `/mcp/{tenant}`. */
export function createWorker<const Features extends readonly Feature[] = readonly []>(
  options: WorkerOptions<Features> = {},
): TenantryWorker<BaseObjects & ObjectsOf<Features>> {
  const deployment = deploymentOf(options);
  const app = createApp(deployment);
  const { features } = deployment;
  const TenantObject = createTenantObject<Env>([
    authorityTables,
    endedTables,
    sessionRegister,
    policyTables,
    contentTables,
    ...features.flatMap(({ tables = [] }) => tables),
  ]);
  const own: BaseObjects = {
    DirectoryObject,
    HubObject,
    SessionObject,
    TenantObject,
    StoredRuns: createStoredRuns(deployment),
  };
  const theirs = Object.assign({}, ...features.map(({ objects = {} }) => objects)) as Objects;
  return {
    fetch: (request, env, ctx) => app.fetch(request, env, ctx),
    exports: { ...own, ...theirs } as unknown as BaseObjects & ObjectsOf<Features>,
  };
}

function deploymentOf(options: WorkerOptions): Deployment {
  const tenants = defineTenants(options.tenants ?? { demo: {} });
  const only = tenants.size === 1 ? [...tenants.keys()][0] : undefined;
  return {
    catalog: {
      server: serverInfo(options),
      instructions: options.instructions,
      tools: options.tools ?? [],
      prompts: options.prompts ?? [],
      resources: options.resources ?? [],
    },
    tenants,
    defaultTenant: options.defaultTenant ?? only,
    hooks: { onError: logError, ...options.hooks },
    path: mountPath(options.path ?? ""),
    features: options.features ?? [],
  };
}

function serverInfo({ name = "tenantry", version = VERSION, ...about }: WorkerOptions): ServerInfo {
  const { title, description, websiteUrl } = about;
  return {
    name,
    version,
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    ...(websiteUrl === undefined ? {} : { websiteUrl }),
  };
}

/** An author who hangs in no `onError` still finds what failed, in the Worker's logs. */
function logError(error: unknown): void {
  // oxlint-disable-next-line no-console
  console.error(error);
}

// Owns `createWorker`: from what an author writes to the Worker's entry. Mistakes in definitions are found here, at once.

import type { Hooks } from "../calls/call-host.ts";
import type { Prompt } from "../content/define/prompt.ts";
import type { Resource, ResourceTemplate } from "../content/define/resource.ts";
import type { NewResource } from "../calls/resource-store.ts";
import type { Tool } from "../content/define/tool.ts";
import type { ServerInfo } from "../protocol/backend.ts";
import { defineTenants, type TenantDefinition } from "../tenants/document/tenant-definition.ts";
import type { RunOrder } from "../sessions/session-object.ts";
import { createApp, runOrder, type Env } from "./app.ts";
import { VERSION } from "./version.ts";

export interface WorkerOptions {
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
  readonly hooks?: Hooks;
}

/** A Worker that serves MCP at `/mcp/{tenant}`. Export its Durable Object classes beside it. */
export function createWorker(options: WorkerOptions = {}): ExportedHandler<Env> & {
  fetch: (request: Request, env: Env, ctx: ExecutionContext) => Response | Promise<Response>;
} {
  const tenants = defineTenants(options.tenants ?? { demo: {} });
  const only = tenants.size === 1 ? [...tenants.keys()][0] : undefined;
  const appOptions = {
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
  };
  const app = createApp(appOptions);
  return {
    fetch: (request, env, ctx) => {
      // Only a binding can set these: nobody outside starts a run.
      const { run } = (ctx.props ?? {}) as { readonly run?: RunOrder };
      return run ? runOrder(appOptions, run, { request, env, ctx }) : app.fetch(request, env, ctx);
    },
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

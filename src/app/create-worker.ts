import type { AppUser } from "../auth/app-user.ts";
import { withForwardedProto } from "../auth/origin.ts";
import type { Around, Hooks } from "../handlers/request-scope.ts";
import { createTypedConfig, type TypedConfig } from "../handlers/typed-config.ts";
import { enableReplayWarnings } from "../handlers/replay-warnings.ts";
import { reportUnhandledRejections } from "../handlers/unhandled-rejections.ts";
import type { NewResource } from "../handlers/resource-store.ts";
import type { AnySchema, CheckedSchema, Infer } from "../handlers/schema.ts";
import type { Catalog } from "../handlers/catalog.ts";
import { createDefinition, definitionErrors, isProduction } from "../handlers/definition-errors.ts";
import type { Prompt } from "../handlers/prompt.ts";
import type { Resource, ResourceTemplate } from "../handlers/resource.ts";
import { withErrorPrefix, type Tool } from "../handlers/tool.ts";
import { restrictedDefinitions } from "../catalog/hidden-definitions.ts";
import { TenantResolver } from "../deployment/tenant-resolver.ts";
import { missingBinding, missingExport, missingFlag, missingObjectClass } from "../deployment/check-configuration.ts";
import { checkDeclaredTenant, checkDeployment, checkOptions } from "../deployment/check-deployment.ts";
import type { BuiltInFeature, Deployment, UntypedEnv } from "../deployment/deployment.ts";
import type { Feature } from "../deployment/feature.ts";
import { parseMountPath } from "../deployment/mount.ts";
import { registerWorker } from "../deployment/registry.ts";
import type { ServerInfo } from "../protocol/definition.ts";
import { omitUndefined } from "../protocol/members.ts";
import { defineTenant, defineTenants, type TenantDefinitionOf } from "../tenants/document/tenant-definition.ts";
import type { Limits } from "../tenants/document/tenant-document.ts";
import { errorContextOf, logError } from "../telemetry/error-line.ts";
import { createApp } from "./app.ts";
import { tenantOutside, type TenantOutside } from "../endpoint/outside.ts";
import { CURRENT_EVENT, getBindings } from "../endpoint/stored-runs-entrypoint.ts";
import { VERSION } from "./version.ts";
import type { Env } from "../endpoint/request-context.ts";
import { isFailure } from "../protocol/methods/params.ts";
import { failure } from "../protocol/errors.ts";
import { cancelBody, MESSAGE_MIN_RATE, RequestBody } from "../streams/request-body.ts";
import { DEFAULT_MAX_BODY_BYTES, readBodyText } from "../endpoint/body.ts";
import { finishResponse } from "../endpoint/finish-response.ts";
import { NO_STORE } from "../endpoint/respond.ts";
import { respondEach } from "../endpoint/respond-each.ts";

/**
 * Looks up a tenant by id, usually in your own database. Return `undefined` if there is no such tenant.
 *
 * The result is cached per isolate for one lease (`maxStalenessMs` of its definition, 5 s by default). If the function
 * throws or takes longer than 10 s, the tenant is unavailable (clients may retry), not deleted.
 */
export type TenantsFunction<Bindings = WorkerEnv> = {
  ask(
    id: string,
    env: Bindings,
  ): TenantDefinitionOf<NewResource, Around> | undefined | Promise<TenantDefinitionOf<NewResource, Around> | undefined>;
}["ask"];

/** The default bindings type: what `wrangler types` generates. */
export interface WorkerEnv extends Cloudflare.Env {
  /** Type-level marker only; never present at run time. */
  readonly [unnamed]?: never;
}

declare const unnamed: unique symbol;

/** `Otherwise` if the author named no bindings type (then the settings schema is unknown), else `Else`. */
export type Unnamed<Bindings, Otherwise, Else> = typeof unnamed extends keyof Bindings ? Otherwise : Else;

/** The type of `ctx.settings`; `never` where the schema is unknown, so that handlers may declare any type. */
export type SettingsBy<Schema> = [Schema] extends [undefined]
  ? object
  : [AnySchema] extends [Schema]
    ? never
    : Infer<Schema>;

/** Options of `createWorker`. All are optional. */
export interface WorkerOptions<Bindings = WorkerEnv, Settings = AnySchema | undefined> {
  /** Server name that clients see; `"tenantry"` by default. */
  readonly name?: string;
  /** Server version that clients see. Default: the package's version. */
  readonly version?: string;
  /** Server name for people. Clients show it in place of `name`. */
  readonly title?: string;
  /** Purpose of the server, in a sentence that clients can show. */
  readonly description?: string;
  /** URL of a page about the server, to which clients can link. */
  readonly websiteUrl?: string;
  /** Guidance for models. A tenant's own `instructions` replace it. */
  readonly instructions?: string;
  /**
   * Protocol extensions to advertise to clients. Each key is an identifier, such as `"com.example/charts"`, and each
   * value is the settings object of the extension.
   */
  readonly extensions?: Readonly<Record<string, object>>;
  /**
   * Schema of a tenant's settings object, which handlers read as `ctx.settings`. Without a schema, settings are not
   * validated.
   */
  readonly settings?: Settings & CheckedSchema<Settings>;
  /** Tools, made with `defineTool`. Names are unique. */
  readonly tools?: readonly Tool<NoInfer<Bindings>, SettingsBy<Settings>>[];
  /** Prompts, made with `definePrompt`. Names are unique. */
  readonly prompts?: readonly Prompt<NoInfer<Bindings>, SettingsBy<Settings>>[];
  /** Resources and templates, made with `defineResource` and `defineTemplate`. URIs are unique. */
  readonly resources?: readonly (
    | Resource<NoInfer<Bindings>, SettingsBy<Settings>>
    | ResourceTemplate<NoInfer<Bindings>, SettingsBy<Settings>>
  )[];
  /**
   * Limits of every tenant; a tenant document can set others. Absent limits have their defaults. Per minute:
   * `tenantMessages` (60000), `principalMessages` (3000), `toolCalls` (1200 calls of one tool by one key). Per minute,
   * for callers without a credential: `addressMessages` (12000), `addressToolCalls` (6000), `addressRefusals` (100). In
   * bytes: `bodyBytes` (4 MiB), `resultBytes` (36 MiB), `resourceBytes` (25 MiB). At the same
   * time: `concurrentCalls` (200), `streams` (100). Unlimited by default: `dailyToolCalls`, `principalDailyToolCalls`.
   */
  readonly limits?: Limits;
  /**
   * Tenants by id, or a function that looks them up. Default: one open tenant, `demo`, with every tool, prompt and
   * resource.
   */
  readonly tenants?: Readonly<Record<string, TenantDefinitionOf<NewResource, Around>>> | TenantsFunction<Bindings>;
  /** The tenant that `/mcp` serves. Default: the only tenant, if there is exactly one. */
  readonly defaultTenant?: string;
  /** Path under which another app mounts the Worker, such as `/ai`. Default: the root. */
  readonly path?: string;
  /**
   * Optional parts of the Worker: `admin()`, `gateway()`, `login()`, `links()`, `connectPage()`, `telemetry()`,
   * `usage()`, `callAudit()` and `webhooks()`, or a `Feature` of your own. `tenantry key create` needs `admin()`.
   */
  readonly features?: readonly Feature[];
  /** Callbacks that run before a call, after a call, and for errors that clients do not see. */
  readonly hooks?: Hooks;
  /** Middleware for each call of every tenant. The middleware of a tenant or definition runs inside it. */
  readonly around?: Around;
  /**
   * Authenticates each request in an app with its own users, for example by the app's session cookie. Returns:
   *
   * - A user: this user is the caller. The user can access only the tenant `user.tenant`. If `user.tenant` is absent, the
   *   user can access all tenants whose mode is `open`.
   * - A `Response`: rejects the request with that response.
   * - `undefined`: the key or token of the request identifies the caller.
   *
   * To read the body, read `request.clone()`.
   */
  authenticate?(this: void, request: Request, env: Bindings): Authenticated | Promise<Authenticated>;
}

type Authenticated = AppUser | Response | undefined;

/** The Worker that `createWorker` creates. Export it as the default export of your Worker's main file. */
export interface TenantryWorker {
  /** Handles a request. An app that mounts the Worker passes all three arguments, with the body unread. */
  readonly fetch: (request: Request, env: Env, ctx: ExecutionContext) => Response | Promise<Response>;
  /**
   * Gives access to a tenant outside a call: in `scheduled`, `queue` or a webhook. Creating the handle sends no
   * request; its methods reject with a `TenantError` if there is no such tenant.
   */
  readonly tenant: (env: Env, id: string) => TenantOutside;
}

/**
 * Creates a Worker that serves MCP at `/mcp/{tenant}`. `tenantry init` writes a project with all that it needs:
 *
 * - The file that `main` names exports the Worker as default, and has `export * from "tenantry/objects"`.
 * - `wrangler.toml` binds a KV namespace: `kv_namespaces = [{ binding = "BODIES" }]`.
 * - A migration in `wrangler.toml` names the classes: `new_sqlite_classes = ["TenantObject", "ContentObject",
 *   "SessionObject", "HubObject", "DirectoryObject", "PlatformObject", "UpstreamObject"]`.
 * - `compatibility_date` is 2025-11-17 or later, and `compatibility_flags` has `"global_fetch_strictly_public"`, so that
 *   `ctx.fetch` cannot reach origins of your own zone past Cloudflare's front door.
 *
 * Throws a TypeError for an invalid definition, so that the deployment fails. Under `wrangler dev`, every request is
 * answered with the error's message instead.
 */
export function createWorker<
  Bindings = WorkerEnv,
  const Settings extends AnySchema | undefined = Unnamed<Bindings, undefined, AnySchema | undefined>,
>(options: WorkerOptions<Bindings, Settings> = {}): TenantryWorker {
  const areOptionsValid = createDefinition(() => (checkOptions(options as never), true));
  const deployment = createDeployment(areOptionsValid ? (options as unknown as WorkerOptions) : {});
  createDefinition(() => {
    if (definitionErrors().length === 0) checkDeployment(deployment);
    const missing = isProduction() ? missingBinding(getBindings()) : undefined;
    if (missing !== undefined) throw new TypeError(missing);
  });
  registerWorker(deployment);
  reportUnhandledRejections(deployment.hooks.onError);
  const app = createApp(deployment);
  /** Environments known to have every binding; later requests skip the check. */
  const checkedEnvs = new WeakSet<object>();
  /**
   * The last error logged. Every request meets the same error, and a client that polls four times a second would flood
   * the log.
   */
  let lastLoggedMessage: string | undefined;
  const fetch: TenantryWorker["fetch"] = (request, env, ctx) => {
    const invocationError = invocationErrorOf(request, env, ctx);
    const startError = invocationError ?? (checkedEnvs.has(env) ? undefined : configurationErrorOf(env, ctx));
    if (startError === undefined) {
      checkedEnvs.add(env);
      return app.fetch(withForwardedProto(request), env, ctx);
    }
    if (lastLoggedMessage !== startError.message) deployment.hooks.onError?.(startError, undefined);
    lastLoggedMessage = startError.message;
    const reason = isProduction()
      ? "Internal error: this deployment is incomplete; the server's log says why"
      : startError.message;
    return respondMisconfigured(request, reason).then((response) => finishResponse(deployment, request, response));
  };
  try {
    // wrangler replaces `process.env.NODE_ENV`, so a deployment contains none of this. A Worker under vitest has no
    // mode.
    if (process.env.NODE_ENV !== "production" && (process.env.NODE_ENV ?? process.env.VITEST_POOL_ID)) {
      enableReplayWarnings();
      const warning = missingFlag(Cloudflare);
      // oxlint-disable-next-line no-console
      if (warning !== undefined) console.warn(warning);
    }
  } catch {
    // Without `process`, this is not development.
  }
  return {
    fetch,
    tenant: (env, id) => {
      const fault = configurationErrorOf(env);
      if (fault) throw fault;
      return tenantOutside({ deployment, env, ctx: CURRENT_EVENT, id });
    },
  };
}

declare const process: { readonly env: { readonly NODE_ENV?: string; readonly VITEST_POOL_ID?: string } };

/** Detects arguments that an app which mounts the Worker did not pass on; undefined if all are there. */
function invocationErrorOf({ bodyUsed }: Request, env?: Env, ctx?: ExecutionContext): Error | undefined {
  if (env && ctx && !bodyUsed) return undefined;
  return new TypeError(
    bodyUsed
      ? "your app has already read the request body: read request.clone() instead"
      : "fetch needs three arguments: request, env, ctx. In Hono, write fetch(c.req.raw, c.env, c.executionCtx)",
  );
}

/** A definition error is returned as it was thrown, so that its stack leads to the author's line. */
function configurationErrorOf(env: Env, ctx?: ExecutionContext): Error | undefined {
  const [definitionError] = definitionErrors();
  if (definitionError !== undefined) return definitionError;
  const untypedEnv = env as unknown as UntypedEnv;
  const missing = missingBinding(untypedEnv) ?? (ctx && missingExport(ctx)) ?? missingObjectClass(untypedEnv);
  return missing === undefined ? undefined : new TypeError(missing);
}

function createDeployment(options: WorkerOptions): Deployment {
  const { tenants: tenantOptions = { demo: {} } } = options;
  const features: readonly BuiltInFeature[] = options.features ?? [];
  const catalog = createCatalog(options);
  const isFunction = typeof tenantOptions === "function";
  const tenants = (!isFunction && createDefinition(() => defineTenants(tenantOptions, catalog.tools))) || new Map();
  const hooks = withSafeOnError(options.hooks);
  const onlyTenant = tenants.size === 1 ? [...tenants.keys()][0] : undefined;
  return {
    catalog,
    tenants,
    tenantResolver: isFunction ? createTenantResolver(tenantOptions, { catalog, features }) : undefined,
    defaultTenant: options.defaultTenant ?? onlyTenant,
    hooks,
    onCallCompleted: createCallNotifier(features, hooks),
    around: options.around,
    authenticate: options.authenticate,
    path: createDefinition(() => parseMountPath(options.path ?? "")) ?? "",
    features,
    observe: features.find(({ observe }) => observe)?.observe,
    pages: features.find(({ pages }) => pages)?.pages,
  };
}

function createCatalog(options: WorkerOptions): Catalog {
  const inCode = {
    tools: (options.tools ?? []) as readonly Tool[],
    prompts: (options.prompts ?? []) as readonly Prompt[],
    resources: (options.resources ?? []) as readonly (Resource | ResourceTemplate)[],
  };
  return {
    server: serverInfo(options),
    instructions: options.instructions,
    extensions: options.extensions,
    limits: options.limits,
    settings: createDefinition(() => createSettings(options.settings)),
    ...inCode,
    guarded: restrictedDefinitions(inCode),
    isPrivate: options.authenticate !== undefined,
  };
}

function createSettings(schema: AnySchema | undefined): TypedConfig | undefined {
  return schema && withErrorPrefix("settings", () => createTypedConfig(schema));
}

function createTenantResolver(
  callback: TenantsFunction<never>,
  parts: Pick<Deployment, "catalog" | "features">,
): TenantResolver {
  return new TenantResolver(callback, (id, definition) => {
    const tenant = defineTenant(id, definition, parts.catalog.tools);
    checkDeclaredTenant(tenant, parts);
    return tenant;
  });
}

function serverInfo({ name = "tenantry", version = VERSION, ...about }: WorkerOptions): ServerInfo {
  const { title, description, websiteUrl } = about;
  return omitUndefined({ name, version, title, description, websiteUrl });
}

/**
 * Errors of the `onError` hook itself are logged, not passed to `onError` again. No client loses a response because of
 * them.
 */
function withSafeOnError({ onError = logToConsole, ...others }: Hooks = {}): Hooks {
  return {
    ...others,
    onError: (error, event, context) => {
      const fullContext = errorContextOf(event, context);
      (async () => {
        await (onError(error, event, fullContext) as unknown);
      })().catch((hookError: unknown) => {
        logError(error, fullContext);
        logError(hookError, fullContext);
      });
    },
  };
}

/** The default `onError`: writes errors to the Worker's logs. */
const logToConsole: NonNullable<Hooks["onError"]> = (error, _event, context = {}) => logError(error, context);

/**
 * Answers each JSON-RPC request with its own id, so that no client waits, and every other request with text. Everybody
 * can read `reason`: in production it must say only that the deployment is not complete.
 */
async function respondMisconfigured(request: Request, reason: string): Promise<Response> {
  const headers = { "content-type": "text/plain; charset=utf-8", ...NO_STORE };
  const plainResponse = () => new Response(`${reason}\n`, { status: 500, headers });
  if (request.method !== "POST" || request.bodyUsed) {
    cancelBody(request);
    return plainResponse();
  }
  const body = new RequestBody(request, MESSAGE_MIN_RATE);
  try {
    const text = await readBodyText(body, DEFAULT_MAX_BODY_BYTES);
    const isJsonRpc = isFailure(text) || text.includes('"jsonrpc"');
    return isJsonRpc ? respondEach(request, text, failure("internal", reason)) : plainResponse();
  } finally {
    body.release();
  }
}

/**
 * Passes answered calls to the features that observe them. A feature that fails changes no response. Returns undefined
 * if no feature observes calls.
 */
function createCallNotifier(
  features: readonly BuiltInFeature[],
  { onError }: Deployment["hooks"],
): Deployment["onCallCompleted"] {
  const observers = features.flatMap(({ onCallCompleted }) => onCallCompleted ?? []);
  const reportError = (error: unknown) => onError?.(error, undefined);
  if (observers.length === 0) return undefined;
  return (call) => {
    const pending = observers.flatMap((observer) => {
      try {
        return observer(call)?.catch(reportError) ?? [];
      } catch (error) {
        reportError(error);
        return [];
      }
    });
    return pending.length > 0 ? Promise.all(pending) : undefined;
  };
}

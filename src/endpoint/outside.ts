// Access to a tenant from the author's own code without a client: in `scheduled`, `queue` or a webhook. Such calls are
// authorized, limited and suspended like a client's, as a principal that no client can have. Handlers cannot ask
// questions here: there is no client.

import { workerPrincipal, type Principal } from "../auth/principal.ts";
import { publishChanges, type Announcement } from "../handlers/publish-changes.ts";
import type { ContentBlock } from "../handlers/content-block.ts";
import { DEFAULT_TIMEOUT_MS } from "../handlers/run-handler-call.ts";
import type { ResourceStore } from "../handlers/resource-store.ts";
import { createViewStore } from "../resources/view-store.ts";
import type { Deployment } from "../deployment/deployment.ts";
import type { McpRequest } from "../protocol/mcp-request.ts";
import { AppError } from "../protocol/app-error.ts";
import { LATEST_2025 } from "../protocol/revisions.ts";
import { failure } from "../protocol/errors.ts";
import type { JsonObject } from "../protocol/jsonrpc.ts";
import { isFailure } from "../protocol/methods/params.ts";
import { UserError } from "../protocol/user-error.ts";
import { policyStore } from "../tenants/object/policy-store.ts";
import { createRpcClient } from "../tenants/object/store.ts";
import { withTimeout } from "../tenants/cache/with-timeout.ts";
import { forgetName } from "../tenants/directory/directory.ts";
import { isTenantId } from "../tenants/document/tenant-definition.ts";
import { handleRequest, isWithin } from "./handle-request.ts";
import { bodyTooLarge, getMaxBodyBytes, parseJson } from "./body.ts";
import { NULL_SINK } from "./call-output.ts";
import { authorizeRequest } from "./authorize-request.ts";
import { tenantUnavailable } from "./tenant-policy.ts";
import type { AuthorizedRequest } from "./authorized-request.ts";
import { findTenant } from "./find-tenant.ts";
import { rateLimit, firstRejection } from "./rate-limit.ts";
import { TenantError } from "./tenant-error.ts";
import { withTelemetry, RequestContext, type Invocation } from "./request-context.ts";

/**
 * The caller that a call is made for: it runs as the principal `worker ID`. It needs no key, in any mode of the tenant.
 */
export interface NamedCaller {
  /** 1 to 200 characters of A-Z, a-z, 0-9 and _ . : @ / + - */
  readonly id: string;
  /** Handlers read it as `ctx.principal.subject`. */
  readonly subject?: string;
  /** Names of the tenant's scopes, which limit what the call can see. Default: no limit. */
  readonly scopes?: readonly string[];
  /** The profile whose view the call uses. Default: the tenant without a profile. */
  readonly profile?: string;
}

export interface CallAs {
  readonly as: NamedCaller;
}

/** The result of a tool, as a client would get it. `isError`: the tool reported an error in `content`. */
export interface ToolResult {
  readonly content: readonly ContentBlock[];
  readonly structuredContent?: JsonObject;
  readonly isError?: boolean;
}

/**
 * A tenant, for code outside a call. Methods reject with a `TenantError` where a request would get an error response.
 */
export interface TenantOutside {
  /** Announces changes to listening clients, like `ctx.announce`. */
  announce(changed: Announcement): Promise<void>;
  /** All of the tenant's resources, like `ctx.resources`, within the tenant's limits. */
  readonly resources: ResourceStore;
  /**
   * Makes a changed result of your `tenants` function take effect. Resolves when the previous result is no longer used
   * anywhere, streams included: at once if no request was served lately, else when the last lease has ended. Only
   * needed with a `tenants` function; other definitions never change.
   */
  invalidate(): Promise<void>;
  /** Runs a tool as a client's request would. A tool error is a result with `isError`. */
  callTool(name: string, args: JsonObject | undefined, how: CallAs): Promise<ToolResult>;
  /** Reads a resource as a client's request would. Binary contents are base64 in `blob`. */
  readResource(uri: string, how: CallAs): Promise<{ readonly contents: readonly JsonObject[] }>;
  /** Gets a prompt as a client's request would. */
  getPrompt(
    name: string,
    args: Readonly<Record<string, string>> | undefined,
    how: CallAs,
  ): Promise<{ readonly description?: string; readonly messages: readonly JsonObject[] }>;
}

/** For operations that need only a view of everything. */
const SYSTEM_PRINCIPAL = workerPrincipal("itself");

const STORE_METHODS = "list get read write delete search tags uris".split(" ") as (keyof ResourceStore)[];

type TenantLocation = Pick<Invocation, "env" | "ctx"> & { readonly deployment: Deployment; readonly id: string };

export function tenantOutside(location: TenantLocation): TenantOutside {
  const call = async (method: string, params: JsonObject, { as }: CallAs): Promise<never> =>
    withTenantErrors(async () =>
      runCallAs(await authorizeAsPrincipal(location, principalOf(as), as.profile), method, params),
    );
  const store = async () => {
    const authorized = await authorizeAsPrincipal(location, SYSTEM_PRINCIPAL);
    // Resources that the author hides from callers are visible to the author.
    const { resourcePatterns: _hidden, ...access } = authorized.view;
    const { storageKey, limits } = authorized;
    return createViewStore({ storageKey, access, limits, bodies: authorized.env.BODIES }, authorized.contentStub());
  };
  type Any = (...args: unknown[]) => Promise<unknown>;
  const resources = STORE_METHODS.map((name) => [
    name,
    (...args: unknown[]) =>
      withTenantErrors(async () => withTimeout(((await store())[name] as Any)(...args), DEFAULT_TIMEOUT_MS)),
  ]);
  return {
    announce: (changed) =>
      withTenantErrors(async () =>
        withTimeout(publishChanges((await authorizeAsPrincipal(location, SYSTEM_PRINCIPAL)).contentStub(), changed)),
      ),
    resources: Object.fromEntries(resources) as ResourceStore,
    invalidate: () => withTenantErrors(() => waitUntilChanged(location)),
    callTool: (name, args, how) => call("tools/call", { name, arguments: args }, how),
    readResource: (uri, how) => call("resources/read", { uri }, how),
    getPrompt: (name, args, how) => call("prompts/get", { name, arguments: args }, how),
  };
}

/** Also for scopes: spaces and braces would make the keys of views ambiguous. */
const NAME = /^[\w.:@/+-]{1,200}$/;

function principalOf({ id, subject, scopes }: NamedCaller): Principal {
  for (const name of [id, ...(scopes ?? [])] as readonly unknown[]) {
    if (typeof name !== "string" || !NAME.test(name))
      throw new TypeError(`as: a name must be 1 to 200 of A-Z, a-z, 0-9, _ . : @ / + -, not "${String(name)}"`);
  }
  return workerPrincipal(id, { subject, scopes });
}

/**
 * Reports an unreachable object in the words of a request's error. Errors that the author has to fix are thrown as they
 * are.
 */
async function withTenantErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if ([TenantError, UserError, TypeError].some((errorClass) => error instanceof errorClass)) throw error;
    throw Object.assign(new TenantError(error instanceof AppError ? error.toFailure() : tenantUnavailable()), {
      cause: error,
    });
  }
}

/** Does not authorize: the tenant may be gone, and that may be the change. */
async function waitUntilChanged(location: TenantLocation): Promise<void> {
  if (!isTenantId(location.id)) return;
  const remainingMs = await withTimeout(
    createRpcClient(createContext(location, SYSTEM_PRINCIPAL, null).stub(), policyStore).changed(),
  );
  forgetName(location.id);
  await scheduler.wait(remainingMs);
}

/** Without a tenant until one is found. */
function createContext(
  { deployment, env, ctx, id }: TenantLocation,
  principal: Principal,
  profile: string | null,
): RequestContext {
  const request = new Request("https://tenantry.internal/outside");
  const credential = { kind: "worker", principal } as const;
  const tenantResult = failure("unknownTenant", `there is no tenant "${id}"`);
  return new RequestContext(deployment, withTelemetry(deployment, { request, env, ctx }), {
    tenant: id,
    profile,
    path: "",
    credential,
    tenantResult,
  });
}

/** Authorizes the Worker itself, for its own work on the tenant. */
export function authorizeAsSystem(location: TenantLocation): Promise<AuthorizedRequest> {
  return authorizeAsPrincipal(location, SYSTEM_PRINCIPAL);
}

async function authorizeAsPrincipal(
  location: TenantLocation,
  principal: Principal,
  profile: string | null = null,
): Promise<AuthorizedRequest> {
  const context = createContext(location, principal, profile);
  const { target } = context;
  const unknownTenant = target.tenantResult;
  try {
    target.tenantResult = (await findTenant(location.env, location.deployment, location.id)) ?? unknownTenant;
  } catch (error) {
    context.onError(error);
    throw new TenantError(tenantUnavailable());
  }
  const authorized = await authorizeRequest(context);
  if (!isFailure(authorized)) return authorized;
  // Clients do not get this detail. This caller needs no credential, so "unauthorized" can only mean that there is no
  // such tenant.
  throw new TenantError(authorized.error === "unauthorized" && isFailure(unknownTenant) ? unknownTenant : authorized);
}

/** Arguments and results pass through JSON, as if they came from a client and went to one. */
async function runCallAs(authorized: AuthorizedRequest, method: string, params: JsonObject): Promise<never> {
  const body = parseJson(JSON.stringify(params));
  if (isFailure(body)) throw new TenantError(body);
  const { context } = authorized;
  const maxBytes = Math.min(context.maxBodyBytes, getMaxBodyBytes(context.env));
  if (!isWithin(body.text, maxBytes)) throw new TenantError(bodyTooLarge(maxBytes));
  const call: McpRequest = {
    revision: LATEST_2025,
    id: 1,
    method,
    params: body.value as JsonObject,
    capabilities: {},
    progressToken: undefined,
    logLevel: undefined,
    session: undefined,
    sink: NULL_SINK,
    header: () => null,
    now: Date.now,
  };
  const limitFailure = firstRejection(await rateLimit(authorized, call));
  if (limitFailure) throw new TenantError(limitFailure);
  const { json, error: rule, retryAfter } = await handleRequest(authorized, call);
  const { result, error } = JSON.parse(json) as { result: never; error?: { message: string; data?: unknown } };
  if (rule) throw new TenantError({ ...error, error: rule, retryAfter });
  return result;
}

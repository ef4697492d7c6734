// Everything that running a handler needs from its request: tenant, caller, visible definitions, bindings.

import type { KeyRing } from "../auth/seal.ts";
import type { Principal } from "../auth/principal.ts";
import type { EffectiveLimits } from "../limits/limit-definitions.ts";
import type { Patterns, ResultBudget, TenantDocument } from "../tenants/document/tenant-document.ts";
import type { TenantRef } from "../tenants/directory/placement.ts";
import type { TenantEvent } from "../tenants/object/tenant-events.ts";
import type { TenantStub } from "../tenants/object/tenant-uid.ts";
import type { McpRequest } from "../protocol/mcp-request.ts";
import type { Failure } from "../protocol/errors.ts";
import type { JsonObject } from "../protocol/jsonrpc.ts";
import type { CacheHint, CallOutcome, ToolOutcome } from "../protocol/call-outcome.ts";
import type { ViewItem } from "../protocol/definition.ts";
import type { ResourceRef } from "../protocol/source.ts";
import type { ErrorContext } from "../telemetry/error-line.ts";
import type { TraceContext } from "../telemetry/trace-context.ts";
import type { Bytes } from "./read-bytes.ts";
import type { ResourceLinkBlock } from "./content-block.ts";
import type { ResourceStore } from "./resource-store.ts";

export interface CallEvent {
  readonly tenant: string;
  readonly profile: string | null;
  readonly principal: Principal;
  readonly method: "tools/call" | "prompts/get" | "resources/read" | "completion/complete";
  /** Tool or prompt name, or resource URI. For a completion, the name of the argument or variable. */
  readonly name: string;
  /** Id of the request in the logs. A client that gets an error gets this id. */
  readonly requestId: string;
}

/** How a call ended. `error` includes results with `isError`. */
export type CallEnd = "complete" | "error" | "input_required" | "timeout" | "cancelled";

/** An author's functions around each call. They run inside the request, so keep them fast. */
export interface Hooks {
  /** Runs before each call, for at most ten seconds. If it returns a text, the call is rejected with this text. */
  readonly beforeCall?: (event: CallEvent) => string | undefined | Promise<string | undefined>;
  /** Runs after the call. An exception goes to `onError` and does not change the result. */
  readonly afterCall?: (event: CallEvent, end: CallEnd) => void;
  /**
   * Gets the errors that clients do not see: a handler's exception or time-out, a failed binding, a rejected promise that no
   * code awaited. A UserError is not reported, because the caller gets its text. `event` is the call, or undefined
   * outside a call. `place` describes where the error happened; it is always present in a Worker.
   */
  readonly onError?: (error: unknown, event: CallEvent | undefined, place?: ErrorContext) => void;
}

export interface AroundCall extends CallEvent {
  /** Arguments of a tool or prompt as the client sent them, not validated. */
  readonly args: JsonObject | undefined;
  /** Aborts when the client cancels the call. */
  readonly signal: AbortSignal;
  /** Why the call is rejected, whatever the function returns. undefined if the call is not rejected so far. */
  readonly refused: Failure | undefined;
}

/**
 * Runs around a call; the outcome that it returns is the call's outcome. `next` runs the call and does not reject,
 * except with an Error in three cases: a second run of a call that may run only once, an eleventh run, and a run after
 * the call was answered. An error thrown here is treated like an error of the handler. So is a time-out: the function
 * has ten seconds, not counting the time in `next`.
 */
export type Around = (call: AroundCall, next: () => Promise<ToolOutcome>) => ToolOutcome | Promise<ToolOutcome>;

/** The parts of the caller's view that handlers need. */
export interface CatalogAccess {
  /** Patterns of the visible stored resources; a resource must match all of them. Absent: all are visible. */
  readonly resourcePatterns?: readonly Patterns[];
  sees(uri: string): boolean;
  /** Whether caches may share content of this view between principals. */
  readonly cacheScope: CacheHint["cacheScope"];
  /** The tenant's configuration of a tool, frozen; undefined if there is none. Throws a `ConfigError`. */
  configOf(tool: string): unknown;
  /** The tenant's settings for everything in code, frozen. Throws a `ConfigError`. */
  settings(): unknown;
}

/** A tool whose results a profile limits in length. */
export interface BudgetedTool {
  /** The tool as listed. */
  readonly wire: JsonObject;
  /** The name that its source gives it: another tool may be listed under the same name later. */
  readonly name: string;
  readonly budget: ResultBudget;
}

export interface LinkOptions {
  /** Name shown to people. */
  readonly name: string;
  /** MIME type. Default: `text/plain` for a text, the blob's own type for a `Blob`. */
  readonly mimeType?: string;
  /** Lifetime in milliseconds, from 60000 (one minute) to 86400000 (one day); 900000 (15 minutes) by default. */
  readonly ttl?: number;
}

/** A call of an author's tool, prompt, resource or completer. */
export interface HandlerCall<Request extends Pick<McpRequest, "method"> = McpRequest> {
  /** The name that its source uses. */
  readonly name: string;
  readonly call: Request;
  readonly requestScope: RequestScope;
  /** True when results must fit a schema. An error never fits it. */
  readonly hasOutput?: boolean | undefined;
}

export interface LinkContext extends HandlerCall {
  readonly signal: () => AbortSignal;
}

export interface VisibleNames extends Pick<CatalogAccess, "sees"> {
  readonly tools: readonly ViewItem<{ readonly name: string }>[];
  readonly prompts: readonly ViewItem<{ readonly name: string }>[];
}

/** Stores results that are longer than a profile allows, and links of `ctx.link`. */
export interface ResultStore {
  /** The outcome without the part that exceeds the budget. */
  enforceBudget(outcome: ToolOutcome, tool: BudgetedTool, requestScope: RequestScope): Promise<ToolOutcome>;
  /** Whether a URI refers to a stored part of a result. */
  isOverflow(uri: string): boolean;
  /** Stores a handler's body and returns the block that links to it. */
  link(body: string | Bytes, options: LinkOptions, context: LinkContext): Promise<ResourceLinkBlock>;
  /** Reads a stored part, while its caller still sees the tool that made it. */
  read(
    resource: ResourceRef,
    call: McpRequest,
    requestScope: RequestScope,
    visibleNames: VisibleNames,
  ): Promise<CallOutcome>;
}

/** The purpose of a token. */
export interface TokenRequest {
  /** An audience that the tenant's document lists, compared exactly. */
  readonly audience: string;
  readonly scopes?: readonly string[];
}

/** The caller's identity for requests to the tenant's own API. */
export interface Identity {
  /**
   * Resolves to an access token. Rejects with an `IdentityError` if there is none, as for a caller with an API key or
   * without credentials.
   */
  token(request: TokenRequest): Promise<string>;
}

export interface RequestScope {
  /** The tenant's id. */
  readonly tenant: string;
  /** The tenant's uid, and where its objects are. */
  readonly tenantRef: TenantRef;
  readonly access: CatalogAccess;
  readonly limits: EffectiveLimits;
  readonly profile: string | null;
  readonly principal: Principal;
  /** Owner of stored data: the principal, or for a caller without a credential, one derived from its address. */
  owner(): Promise<string>;
  readonly env: unknown;
  /** Replaces the global `fetch`, so that a test can answer the requests of `ctx.fetch`. */
  readonly fetch?: ((request: Request) => Promise<Response>) | undefined;
  readonly ring: KeyRing;
  readonly hooks: Hooks;
  /** The `around` functions of the Worker and the tenant, the outermost first. */
  readonly around?: readonly Around[] | undefined;
  readonly requestId: string;
  /** Absent: results are not shortened. */
  readonly results?: ResultStore | undefined;
  /** Reports an event of this call to operators; absent where no feature listens. */
  readonly emitEvent?: ((requestScope: RequestScope, event: TenantEvent) => void) | undefined;
  /** Absent in a Worker without the feature `login()`. */
  readonly identity?: Identity | undefined;
  /** The trace that a call with this `_meta` belongs to; absent in a Worker without `telemetry()`. */
  readonly trace?: ((meta: unknown) => TraceContext | undefined) | undefined;
  /** Number of tenantry Workers that the request passed through. */
  readonly hops: number;
  /** Headers of the client's request. Empty when a stored call runs again, because its request is gone. */
  readonly headers: Headers;
  /** A header of the client's request; null too when a stored call runs again without its request. */
  clientHeader(name: string): string | null;
  /** The request's body as it came, possibly with several messages; undefined if it is not available. */
  readonly sentText: string | undefined;
  /** The tenant's stored resources that the view shows. */
  resources(): ResourceStore;
  /** The tenant's own secret; undefined if it has none of this name. */
  secret(name: string): Promise<string | undefined>;
  /**
   * Checks the call's rights again just before a handler runs, because hooks and validation may outlast a lease.
   * Returns undefined if the call may run. `checkDocument` adds a check of the tenant's document if that has changed.
   */
  recheck(
    call: McpRequest,
    checkDocument?: (document: TenantDocument) => Failure | undefined,
  ): Promise<Failure | undefined>;
  /** A stub of the tenant object. Each request makes its own, because a stub belongs to one request. */
  stub(): TenantStub;
  /** A stub of the object that stores the tenant's content, likewise one per request. */
  contentStub(): TenantStub;
  /** Makes the Worker's features refresh the tenant by this time at the latest (milliseconds since the epoch). */
  readonly refreshBy: (time: number) => void;
  /** Keeps the invocation alive for work that outlives its response. */
  waitUntil(work: Promise<unknown>): void;
}

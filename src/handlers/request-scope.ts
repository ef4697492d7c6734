// Owns what a request brings along for running handlers: the tenant, the caller, what they see, and the bindings.

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
import type { CacheHint, CallOutcome, InvalidArguments } from "../protocol/call-outcome.ts";
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
  /** Tool or prompt name, or resource URI; of a completion, what is completed. */
  readonly name: string;
  /** By which the request is found in the logs; a client that was told of an error has it. */
  readonly requestId: string;
}

export type CallEnd = "complete" | "error" | "input_required" | "timeout" | "cancelled";

/** Functions that the author of a Worker may have called around each call. They run in the request: keep them quick. */
export interface Hooks {
  /** A text that it returns refuses the call, and the client is told the text. */
  readonly beforeCall?: (event: CallEvent) => string | undefined | Promise<string | undefined>;
  readonly afterCall?: (event: CallEvent, end: CallEnd) => void;
  /**
   * Errors that clients are not told about: a handler's exception or time-out, a binding that failed, work that nobody
   * waited for. No UserError: its text is for who called. `event`: where a call was under way. `place`: what is known of
   * where it happened, also where none was; always there in a Worker.
   */
  readonly onError?: (error: unknown, event: CallEvent | undefined, place?: ErrorContext) => void;
}

/** What a call ended in, before it is written as the client's revision wants it. */
export type AroundOutcome = CallOutcome | InvalidArguments;

export interface AroundCall extends CallEvent {
  /** Of a tool or prompt, as they came: nothing has looked at them. */
  readonly args: JsonObject | undefined;
  /** Aborts when the client cancels the call. */
  readonly signal: AbortSignal;
  /** Why the call is refused, whatever is returned here; undefined: it is not, so far. */
  readonly refused: Failure | undefined;
}

/**
 * What it returns is the outcome. `next` never rejects, except when it is asked to run again what may run only once, for
 * the eleventh time, or when its call was answered without it: then with an Error. What is thrown here is treated as if the
 * handler had thrown it, and so is what takes longer than ten seconds, without what `next` took.
 */
export type Around = (call: AroundCall, next: () => Promise<AroundOutcome>) => AroundOutcome | Promise<AroundOutcome>;

/** What handlers need to know of the view under which they run. */
export interface CatalogAccess {
  /** What of the stored resources it shows: what all of these let pass. Absent: everything. */
  readonly resourcePatterns?: readonly Patterns[];
  sees(uri: string): boolean;
  /** Whether what is read through the view may be shared by clients of other principals. */
  readonly cacheScope: CacheHint["cacheScope"];
  /** The tenant's configuration of a tool, frozen; undefined where there is none. Throws a `ConfigFault`. */
  configOf(tool: string): unknown;
  /** What the tenant says for everything in code, frozen. Throws a `ConfigFault`. */
  settings(): unknown;
}

/** A tool whose results a profile wants to be no longer than this. */
export interface BudgetedTool {
  /** As it is listed. */
  readonly wire: JsonObject;
  /** The name that its source gives it: another tool may be listed under the same name later. */
  readonly name: string;
  readonly budget: ResultBudget;
}

export interface LinkOptions {
  /** As people read it. */
  readonly name: string;
  /** Absent: `text/plain` for a text, and what a `Blob` says of itself. */
  readonly mimeType?: string;
  /** Milliseconds for which it can be read, from a minute to a day; 15 minutes when absent. */
  readonly ttl?: number;
}

/** Who keeps something. */
export interface LinkContext {
  readonly call: McpRequest;
  readonly requestScope: RequestScope;
  /** By the name that its source gives it. */
  readonly name: string;
  readonly signal: () => AbortSignal;
}

interface ListedName {
  /** As it is listed. */
  readonly wire: { readonly name: string };
  /** As its source calls it. */
  readonly target: { readonly name: string };
}

/** What a caller sees by name. */
export interface VisibleNames extends Pick<CatalogAccess, "sees"> {
  readonly tools: readonly ListedName[];
  readonly prompts: readonly ListedName[];
}

/** What becomes of results that are longer than a profile allows. */
export interface ResultStore {
  /** The outcome of a call with what is too long of it left out. */
  enforceBudget(
    outcome: CallOutcome | InvalidArguments,
    tool: BudgetedTool,
    requestScope: RequestScope,
  ): Promise<CallOutcome | InvalidArguments>;
  /** Whether a URI is one of what was left out. */
  isOverflow(uri: string): boolean;
  /** Keeps what a handler made, and gives the block that leads there. */
  link(body: string | Bytes, options: LinkOptions, context: LinkContext): Promise<ResourceLinkBlock>;
  /** What was left out, while its caller sees what they called. */
  read(
    resource: ResourceRef,
    call: McpRequest,
    requestScope: RequestScope,
    visibleNames: VisibleNames,
  ): Promise<CallOutcome>;
}

/** What a token is for. */
export interface TokenRequest {
  /** One of those that the tenant's document names, to the character. */
  readonly audience: string;
  readonly scopes?: readonly string[];
}

/** The person who calls, towards the tenant's own API. */
export interface Identity {
  /** An access token. Rejects with an `IdentityError` where there is none: for who has a key, or nothing. */
  token(ask: TokenRequest): Promise<string>;
}

export interface RequestScope {
  /** The tenant's id. */
  readonly tenant: string;
  /** Which tenant of that id, and where its objects are. */
  readonly tenantRef: TenantRef;
  readonly access: CatalogAccess;
  readonly limits: EffectiveLimits;
  readonly profile: string | null;
  readonly principal: Principal;
  /** Whose something is that is kept: the principal, or by where they come from who has no credential. */
  owner(): Promise<string>;
  readonly env: unknown;
  /** In place of the global `fetch`, where a test answers what leaves by `ctx.fetch`. */
  readonly fetch?: ((request: Request) => Promise<Response>) | undefined;
  readonly ring: KeyRing;
  readonly hooks: Hooks;
  /** What the authors of the Worker and of the tenant have run around calls, the outermost first. */
  readonly around?: readonly Around[] | undefined;
  readonly requestId: string;
  /** Absent: results are as long as they are. */
  readonly results?: ResultStore | undefined;
  /** Tells people what this call met; absent where nobody is told. */
  readonly emitEvent?: ((requestScope: RequestScope, news: TenantEvent) => void) | undefined;
  /** Absent in a Worker without the feature `login()`. */
  readonly identity?: Identity | undefined;
  /** Of which trace a call is a part, with this `_meta`; absent in a Worker without `telemetry()`. */
  readonly trace?: ((meta: unknown) => TraceContext | undefined) | undefined;
  /** How many Workers of ours the request went through that this is done for. */
  readonly hops: number;
  /** Those of the request that the client sent; of none of them where a stored call runs anew, without its request. */
  readonly headers: Headers;
  /** A header of the request that the client sent; null as well where a stored call runs anew, without its request. */
  clientHeader(name: string): string | null;
  /** The body of that request as it came; undefined where it is not there. It may hold several messages. */
  readonly sentText: string | undefined;
  /** The tenant's stored resources, as far as the view sees them. */
  resources(): ResourceStore;
  /** The tenant's own secret; undefined when it has none of this name. */
  secret(name: string): Promise<string | undefined>;
  /**
   * Whether what the call is for may still be had; asked again just before a handler runs, because hooks and validation may
   * take as long as a lease. undefined: it may. `served`: what else the tenant's document must still say, if it has changed.
   */
  recheck(
    call: McpRequest,
    checkDocument?: (document: TenantDocument) => Failure | undefined,
  ): Promise<Failure | undefined>;
  /** A stub of the tenant's authority. Each request makes its own, because a stub belongs to one request. */
  stub(): TenantStub;
  /** The same for the object that keeps the tenant's content. */
  contentStub(): TenantStub;
  /** Has the Worker's features look after the tenant not later than this (milliseconds since the epoch). */
  readonly refreshBy: (time: number) => void;
  /** Keeps the invocation alive for work that outlives its answer. */
  waitUntil(work: Promise<unknown>): void;
}

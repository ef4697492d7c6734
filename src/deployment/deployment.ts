// The parts of a Worker: its author's definitions, and features. A feature is a value that adds routes and sources.
// The classes of tenantry/objects are the same for every set of features.

import type { Around, RequestScope, Hooks, Identity, ResultStore } from "../handlers/request-scope.ts";
import type { NewResource } from "../handlers/resource-store.ts";
import type { Catalog } from "../handlers/catalog.ts";
import type { View } from "../catalog/view.ts";
import type { Credential } from "../auth/credential.ts";
import type { ToolRestrictions, Principal } from "../auth/principal.ts";
import type { RequestHandlers } from "../protocol/request-handlers.ts";
import type { McpRequest } from "../protocol/mcp-request.ts";
import type { Cause, CauseCode } from "../protocol/cause.ts";
import type { EncodedResponse } from "../protocol/dispatch.ts";
import type { Era } from "../protocol/revisions.ts";
import type { Failure } from "../protocol/errors.ts";
import type { CallOutcome } from "../protocol/call-outcome.ts";
import type { ListedKind, ServerInfo } from "../protocol/definition.ts";
import type { Source } from "../protocol/source.ts";
import type { Actor, Policy, WriteResult } from "../tenants/object/policy-records.ts";
import type { ExceededLimitContext } from "../limits/record-exceeded-limit.ts";
import type { TenantStub } from "../tenants/object/tenant-uid.ts";
import type { TenantEvent } from "../tenants/object/tenant-events.ts";
import type { Section } from "../tenants/cache/section-cache.ts";
import type { Placement } from "../tenants/directory/placement.ts";
import type { Tenant } from "../tenants/document/tenant-definition.ts";
import type { ErrorContext } from "../telemetry/error-line.ts";
import type { TraceContext } from "../telemetry/trace-context.ts";
import type { TenantResolver } from "./tenant-resolver.ts";
import type { CallAuditReader, UsageReader } from "./record-readers.ts";
import type { Feature, FeatureRoutes, FeatureTenant } from "./feature.ts";
import type { OperatorSignIn } from "./operator-sign-in.ts";
import type { Pages } from "./pages.ts";
import type { TenantDocument, UpstreamBounds, FieldRule } from "../tenants/document/tenant-document.ts";

export interface Deployment {
  readonly catalog: Catalog;
  readonly tenants: ReadonlyMap<string, Tenant<NewResource>>;
  /** Set if `tenants` is a function; then `tenants` is empty. */
  readonly tenantResolver?: TenantResolver | undefined;
  /** The tenant that `/mcp` serves. */
  readonly defaultTenant: string | undefined;
  readonly hooks: Hooks;
  readonly around?: Around | undefined;
  /** The author's `authenticate` option, unchecked: authenticate-with-app.ts validates its result. */
  readonly authenticate?: ((request: Request, env: never) => unknown) | undefined;
  /** The path under which the Worker is mounted, such as `/ai`; empty at the root. */
  readonly path: string;
  readonly features: readonly BuiltInFeature[];
  /** From the one feature that records requests. */
  readonly observe?: BuiltInFeature["observe"];
  /** From the one feature with pages. */
  readonly pages?: Pages | undefined;
  /** Notifies the features that observe calls; undefined if there are none. Never rejects. */
  readonly onCallCompleted?: BuiltInFeature["onCallCompleted"];
}

/** A Worker's bindings, untyped here: each part of the Worker knows the types of the bindings that it needs. */
export type UntypedEnv = Readonly<Record<string, unknown>>;

/** Routes of a built-in feature, which can read the whole deployment. */
export interface BuiltInRoutes extends FeatureRoutes {
  open(deployment: Deployment): ReturnType<FeatureRoutes["open"]>;
}

/** A tenant, for features whose sources are built from leased sections. */
export interface SectionedTenant extends FeatureTenant {
  /** By name: the leased sections that the feature requested and that could be loaded. */
  readonly sections: ReadonlyMap<string, Section>;
}

/** Input for a feature's background work on a tenant, outside a tenant's request. */
export interface RefreshContext {
  readonly tenant: string;
  readonly placement: Placement;
  /** The tenant's uid: its time of creation, ISO 8601. */
  readonly created: string;
  readonly revision: number;
  readonly document: TenantDocument;
  /** Section hashes of the tenant's lease, by name. */
  readonly sectionHashes: ReadonlyMap<string, string>;
  readonly server: ServerInfo;
  readonly env: UntypedEnv;
  readonly stub: () => TenantStub;
  /** The tenant's own secret; undefined if it has none of this name. */
  secret(name: string): Promise<string | undefined>;
  onError(error: unknown): void;
}

/** Input of `resolvePrincipal`. */
export interface CallerContext {
  /** The principal by the Worker's built-in rules, or the reason for having none. */
  readonly principalResult: Principal | Failure;
  readonly document: TenantDocument;
  readonly context: {
    readonly target: { readonly credential: Credential; readonly profile: string | null; readonly path: string };
    readonly request: Request;
    readonly deployment: Pick<Deployment, "path">;
  };
  /** Values computed from this version of the policy. */
  readonly memo: Map<unknown, unknown>;
  readonly createRefreshContext: () => RefreshContext;
}

/** Input of `identity`: what a token for the calling user is created from. */
export interface IdentityContext extends Pick<
  RequestScope,
  "tenant" | "principal" | "env" | "secret" | "stub" | "waitUntil"
> {
  readonly document: TenantDocument;
  readonly credential: Credential;
  /** Represents the tenant in storage keys (see `storageKey`). */
  readonly storageKey: string;
  readonly context: { readonly placement: Placement; readonly deployment: Pick<Deployment, "catalog"> };
  readonly cachedPolicy: {
    readonly created: string;
    readonly version: number;
    readonly sections: RefreshContext["sectionHashes"];
  };
  onError(error: unknown): void;
}

/** An authorized request, before any of its messages runs. */
export interface AuthorizedContext {
  readonly principal: Principal;
  readonly view: View;
  readonly document: TenantDocument;
  readonly cachedPolicy: {
    readonly policy: Policy;
    readonly version: number;
    /** Values computed from this version of the policy. */
    readonly memo: Map<unknown, unknown>;
  };
  readonly context: Omit<CallerContext["context"], "target" | "deployment"> & {
    readonly target: CallerContext["context"]["target"] & { readonly tenantResult: Tenant<NewResource> | Failure };
    readonly deployment: Pick<Deployment, "path" | "catalog">;
  };
}

export interface SectionContext {
  readonly tenant: string;
  /** Represents the tenant in the keys of bodies (see `storageKey`). */
  readonly storageKey: string;
  readonly server: ServerInfo;
  /** Section hashes of the tenant's lease, by name. */
  readonly sectionHashes: ReadonlyMap<string, string>;
  readonly bodies: KVNamespace;
  /** Creates a stub of the tenant object. */
  readonly stub: () => TenantStub;
}

export interface LoadedSections {
  readonly sections: SectionedTenant["sections"];
  /** false if a section is missing; the source built from it reports that. */
  readonly isComplete: boolean;
}

/** Sections that a feature leases with the policy. `createLeasedSections` creates it. */
export interface LeasedSections {
  load(context: SectionContext): LoadedSections | Promise<LoadedSections>;
}

/** Where a feature answers an envelope's calls itself. The principal and the view are decided before. */
export interface EnvelopeContext {
  readonly view: View;
  readonly handlers: RequestHandlers;
  readonly requestScope: RequestScope;
}

/** A request to a tenant's endpoint, as the feature that records requests sees it. */
export interface ObservedContext {
  readonly tenant: string;
  /** `tenantResult` is a failure if there is no such tenant. Then `tenant` is arbitrary text from the client. */
  readonly target: { readonly profile: string | null; readonly tenantResult: object };
  readonly placement: Placement;
  readonly era: Era;
  /** Undefined until the request is authorized. */
  readonly requestScope: ViewScope | undefined;
  readonly sentText: string | undefined;
  /** Context for error reports. */
  readonly errorContext: ErrorContext;
  /** Whether work on the request's messages is still running. */
  readonly isBusy: boolean;
}

/** Telemetry of one request, for the one feature that records requests. */
export interface RequestTelemetry {
  /** Replaces the Worker's env. */
  readonly env: UntypedEnv;
  /** Replaces the deployment's hooks for whatever this request runs. */
  readonly hooks: Hooks;
  setContext(context: ObservedContext): void;
  /** The trace context that `ctx.fetch` sends along. `meta` is the call's. */
  trace(meta: unknown): TraceContext | undefined;
  recordCall(call: McpRequest, answer: EncodedResponse): void;
  /** Called when all work on the request's messages has ended. */
  recordDone(): void;
  /** `response` is undefined if something threw. `error`: why the request was rejected, as far as its status shows. */
  recordResponse(response: Response | undefined, error: string | undefined): void;
}

/** The scope of an authorized request. */
export type ViewScope = RequestScope & Pick<EnvelopeContext, "view">;

/** A message of `/gateway`, which names its upstream beside itself. */
export interface GatewayEnvelope {
  /** The JSON-RPC message. */
  readonly message: unknown;
  /** The same message with the tool's name in this view, by which limits count the call. */
  toLimitedMessage(view: View): unknown;
  answer(call: McpRequest, context: EnvelopeContext): CallOutcome | Promise<CallOutcome>;
}

/** Input of an operator's operations on a tenant's upstreams. */
export interface UpstreamContext extends RefreshContext {
  /** Represents the tenant in the keys of bodies (see `storageKey`). */
  readonly storageKey: string;
  readonly bodies: KVNamespace;
  /** The operator who makes the request. */
  readonly actor: Actor;
}

/** The definitions of an upstream: those listed, and those left out. */
export interface UpstreamContent {
  /** The transport and era in use. */
  readonly way: "2025" | "2026" | "http-sse";
  readonly revision: string;
  readonly counts: Readonly<Record<ListedKind, number>>;
  readonly quarantined: readonly {
    readonly kind: ListedKind | "instructions";
    readonly name: string;
    readonly why: string;
    readonly code?: CauseCode;
  }[];
  /** How many more definitions are left out than `quarantined` names. */
  readonly unnamed: number;
  /** Listed definitions that deserve a second look; the first hundred. */
  readonly flagged: readonly { readonly kind: ListedKind; readonly name: string; readonly flags: readonly string[] }[];
  /** Describes the part that was not read, because it was too much or failed; null if everything was read. */
  readonly capped: string | null;
  /** How many events of the upstream's streams were not messages, and were skipped. */
  readonly skipped: number;
}

/** An upstream as operators see it. Times are milliseconds since the epoch. */
export interface UpstreamReport {
  readonly state: "fresh" | "lastGood" | "degraded" | "unread" | "disabled";
  readonly why: string | null;
  /** `why` as codes. */
  readonly causes: readonly Cause[];
  /** Since when the upstream cannot be read; null if it can. */
  readonly since: number | null;
  /** The content as last read; null if it was never read with its current configuration. */
  readonly content: UpstreamContent | null;
  readonly lastRead: number | null;
  readonly nextRead: number | null;
  readonly reading: boolean;
}

export type UpstreamServer = { readonly [member in "name" | "version"]?: string };

/** The result of testing an upstream. */
export type UpstreamTrial = { readonly ms: number; readonly causes: readonly Cause[] } & (
  | { readonly fault: string }
  | {
      readonly content: UpstreamContent;
      readonly server: UpstreamServer;
      /** Listed tools that a known client rejects; the first hundred. */
      readonly refused: readonly { readonly name: string; readonly why: string }[];
    }
);

/** How operators inspect and refresh a tenant's upstreams. Their configuration is in the document. */
export interface UpstreamOperations {
  /** The limits of what a tenant's own administrator may configure without an operator. */
  readonly bounds?: UpstreamBounds | undefined;
  /** A report for every upstream in the document, by id. */
  report(context: UpstreamContext): Promise<ReadonlyMap<string, UpstreamReport>>;
  /**
   * Reads the upstream now, or joins a read that is running; resolves when it is done. false: the upstream's
   * configuration changed meanwhile.
   */
  refresh(context: UpstreamContext, id: string): Promise<boolean>;
  /** Reads the upstream without storing anything. */
  test(context: UpstreamContext, id: string): Promise<UpstreamTrial>;
}

/** A user's grant to a client, as operators see it. Times are milliseconds since the epoch. */
export interface GrantReport {
  readonly id: string;
  readonly client: { readonly id: string; readonly name: string };
  readonly principal: string;
  readonly person: { readonly name?: string; readonly email?: string };
  /** The URL of the endpoint that the grant is for. */
  readonly resource: string;
  readonly profile: string | null;
  /** null: no scope limits the grant. */
  readonly scopes: readonly string[] | null;
  readonly narrowing: ToolRestrictions;
  readonly created: number;
  readonly usedAt: number;
  readonly expires: number;
}

/** An OAuth client with which users sign in, as operators see it. */
export interface LoginClientReport {
  readonly id: string;
  /** `document`: the client's id is the URL of its metadata. */
  readonly kind: "registered" | "document";
  readonly name: string;
  readonly redirects: readonly string[];
  readonly usedAt: number;
}

/**
 * How operators list and end what users of one tenant granted to clients. Lists are ordered by id and start after
 * `after`.
 */
export interface LoginOperations {
  grants(after: string, most: number, principal?: string): Promise<readonly GrantReport[]>;
  clients(after: string, most: number): Promise<readonly LoginClientReport[]>;
  endGrant(id: string, actor: Actor): Promise<WriteResult>;
  /** Deletes the client and ends all its grants. */
  endClient(id: string, actor: Actor): Promise<WriteResult>;
}

/** An authorized request and its response. */
export interface CompletedCall {
  readonly requestScope: ViewScope & {
    readonly document: TenantDocument;
    readonly context: { readonly envelope?: GatewayEnvelope | undefined };
    onError(error: unknown): void;
  };
  readonly call: Pick<McpRequest, "method" | "params">;
  readonly response: EncodedResponse;
  /** The outcome that the response was built from; undefined if an error occurred before there was one. */
  readonly outcome?: CallOutcome | undefined;
}

/**
 * The result of a webhook delivery. `status` is null if there was no response; `why` is null if the message was
 * delivered.
 */
export interface WebhookTrial {
  readonly delivered: boolean;
  readonly status: number | null;
  readonly why: string | null;
  readonly milliseconds: number;
}

export interface WebhookQueue {
  readonly waiting: number;
  /** Events that were dropped or pushed out since the tenant was created. */
  readonly dropped: number;
}

/** How operators inspect a tenant's webhooks. */
export interface WebhookOperations {
  /** Sends a test message without content. Returns undefined if there is no such webhook. */
  test(
    context: Pick<RefreshContext, "tenant" | "document" | "env" | "secret">,
    name: string,
  ): Promise<WebhookTrial | undefined>;
  queue(stub: TenantStub): Promise<WebhookQueue>;
}

/**
 * A built-in feature, with abilities beyond an author's own features. "The one feature" below: at most one feature of a
 * Worker has the member.
 */
export interface BuiltInFeature extends Feature {
  readonly routes?: BuiltInRoutes | readonly BuiltInRoutes[];
  /** The sections that the feature's sources are built from; absent for features without sections. */
  readonly sections?: LeasedSections;
  /** Validates a tenant's document, with its base documents merged in. `env` is absent for a tenant defined in code. */
  checkDocument?(document: TenantDocument, env: UntypedEnv | undefined): readonly FieldRule[];
  /**
   * Background maintenance for the tenant, run beside an authorized request. Resolves to the time of the next run in
   * this isolate (milliseconds since the epoch). A new version of the policy also triggers a run.
   */
  readonly refresh?: (context: RefreshContext) => Promise<number>;
  /** The one feature that authenticates callers by more than keys. Called for a tenant whose document has `auth`. */
  readonly resolvePrincipal?: (context: CallerContext) => Principal | Failure | Promise<Principal | Failure>;
  /** The same feature: creates `ctx.identity`. */
  readonly identity?: (context: IdentityContext) => Identity;
  /** The one feature that authenticates operators by more than the platform's own tokens. */
  readonly operators?: OperatorSignIn;
  /** The same feature, where the document has `auth`: why a body needs another credential, or one with more scopes. */
  readonly requireStepUp?: (context: AuthorizedContext, body: unknown) => Failure | undefined;
  /** Called for each new version of a tenant's policy. The sources are listed after the tenant's own. */
  sources?(tenant: SectionedTenant): readonly Source<RequestScope>[];
  /**
   * For features whose callers send credentials: why a request with a credential is rejected before the credential is
   * read.
   */
  readonly transportError?: (request: Request) => Failure | undefined;
  /** The one feature with upstreams. */
  readonly upstreams?: UpstreamOperations;
  /** The one feature with which users sign in. */
  readonly logins?: (stub: TenantStub) => LoginOperations;
  /** The one feature with background work: the alarm of its object starts the work, in an invocation of its own. */
  readonly background?: (deployment: Deployment, env: UntypedEnv, order: unknown) => Promise<void>;
  /** The one feature that records requests: called for each request before anything else. */
  readonly observe?: (
    invocation: { readonly request: Request; readonly env: UntypedEnv; waitUntil(work: Promise<unknown>): void },
    hooks: Hooks,
  ) => RequestTelemetry;
  /**
   * Called for each authorized request when its response is known. Must be quick: the response waits for the returned
   * promise.
   */
  readonly onCallCompleted?: (completedCall: CompletedCall) => Promise<unknown> | undefined;
  /**
   * The one feature that reports exceeded limits: called each time a limit is exceeded, without delaying the request.
   */
  readonly onLimitExceeded?: (
    context: ExceededLimitContext,
    exceeded: { readonly name: string; readonly most: number },
  ) => void;
  /** The one feature that counts calls. */
  readonly usage?: (stub: TenantStub) => UsageReader;
  /** The one feature that records calls. */
  readonly callAudit?: (stub: TenantStub) => CallAuditReader;
  /** The one feature that notifies people of events; it does not delay the call that triggers one. */
  readonly emitEvent?: (requestScope: RequestScope, event: TenantEvent) => void;
  /** The same feature. */
  readonly webhooks?: WebhookOperations;
  /** The one feature with HTML pages, shown to browsers where other clients get JSON. */
  readonly pages?: Pages;
  /** For features that store results: what `ctx.link` was given, and the excess of a result over its budget. */
  readonly results?: ResultStore;
}

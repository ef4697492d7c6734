// What a Worker is made of: what its author wrote, and features. A feature is a value that brings routes and sources; the classes
// of tenantry/objects are the same whatever features there are.

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
import type { TenantDocument, UpstreamBounds } from "../tenants/document/tenant-document.ts";

/** What one Worker serves. */
export interface Deployment {
  readonly catalog: Catalog;
  readonly tenants: ReadonlyMap<string, Tenant<NewResource>>;
  /** Where the author's function knows them instead. */
  readonly tenantResolver?: TenantResolver | undefined;
  /** The tenant of `/mcp`. */
  readonly defaultTenant: string | undefined;
  readonly hooks: Hooks;
  readonly around?: Around | undefined;
  /** What the app that mounts it says of who calls, as its author wrote it: `askApp` reads that. */
  readonly authenticate?: ((request: Request, env: never) => unknown) | undefined;
  /** The path under which it is mounted, such as `/ai`; empty: at the root. */
  readonly path: string;
  readonly features: readonly BuiltInFeature[];
  /** Of the one feature that tells of requests. */
  readonly observe?: BuiltInFeature["observe"];
  /** Of the one feature that has them. */
  readonly pages?: Pages | undefined;
  /** Tells the features that hear of calls; undefined where none does. Never rejects. */
  readonly onCallCompleted?: BuiltInFeature["onCallCompleted"];
}

/** A Worker's bindings, untyped here: each part of the Worker knows the types of those that it needs. */
export type Bindings = Readonly<Record<string, unknown>>;

/** Routes of a feature of the package's own, which looks into the whole deployment. */
export interface BuiltInRoutes extends FeatureRoutes {
  open(deployment: Deployment): ReturnType<FeatureRoutes["open"]>;
}

/** A tenant, for features whose sources are made of leased sections. */
export interface SectionedTenant extends FeatureTenant {
  /** By name: the leased sections that the feature asked for and that could be loaded. */
  readonly sections: ReadonlyMap<string, Section>;
}

/** What a feature has for its work beside a tenant's requests. */
export interface RefreshContext {
  readonly tenant: string;
  readonly placement: Placement;
  /** When the tenant was made, and the revision of its policy. */
  readonly created: string;
  readonly revision: number;
  readonly document: TenantDocument;
  /** The hash of each section in the tenant's lease, by name. */
  readonly sectionHashes: ReadonlyMap<string, string>;
  readonly server: ServerInfo;
  readonly env: Bindings;
  readonly stub: () => TenantStub;
  /** The tenant's own secret; undefined when it has none of this name. */
  secret(name: string): Promise<string | undefined>;
  onError(error: unknown): void;
}

/** What a feature that knows who calls is asked with. */
export interface CallerContext {
  /** Who it is by what every Worker knows, or why nobody. */
  readonly principalResult: Principal | Failure;
  readonly document: TenantDocument;
  readonly context: {
    readonly target: { readonly credential: Credential; readonly profile: string | null; readonly path: string };
    readonly request: Request;
    readonly deployment: Pick<Deployment, "path">;
  };
  /** Whatever is computed from this version of the policy. */
  readonly derived: Map<unknown, unknown>;
  readonly createRefreshContext: () => RefreshContext;
}

/** What a token as the person is made of, who calls. */
export interface IdentityContext extends Pick<
  RequestScope,
  "tenant" | "principal" | "env" | "secret" | "stub" | "waitUntil"
> {
  readonly document: TenantDocument;
  readonly credential: Credential;
  /** What stands for the tenant: `keptUnder`. */
  readonly storageKey: string;
  readonly context: { readonly placement: Placement; readonly deployment: Pick<Deployment, "catalog"> };
  readonly snapshot: {
    readonly created: string;
    readonly version: number;
    readonly sections: RefreshContext["sectionHashes"];
  };
  onError(error: unknown): void;
}

/** Somebody who was let in, before anything that they sent runs. */
export interface AuthorizedContext {
  readonly principal: Principal;
  readonly view: View;
  readonly document: TenantDocument;
  readonly snapshot: {
    readonly policy: Policy;
    readonly version: number;
    /** Whatever is computed from this version of the policy. */
    readonly memo: Map<unknown, unknown>;
  };
  readonly context: Omit<CallerContext["context"], "target" | "deployment"> & {
    readonly target: CallerContext["context"]["target"] & { readonly tenantResult: Tenant<NewResource> | Failure };
    readonly deployment: Pick<Deployment, "path" | "catalog">;
  };
}

/** What is needed to load a tenant's sections. */
export interface SectionContext {
  readonly tenant: string;
  /** What stands for the tenant in the keys of bodies: `keptUnder`. */
  readonly storageKey: string;
  readonly server: ServerInfo;
  /** The hash of each section in the tenant's lease, by name. */
  readonly sectionHashes: ReadonlyMap<string, string>;
  readonly bodies: KVNamespace;
  /** Makes a stub of the tenant's authority. */
  readonly stub: () => TenantStub;
}

export interface LoadedSections {
  readonly sections: SectionedTenant["sections"];
  /** false: a section is missing, and the source that is made of it says so. */
  readonly isComplete: boolean;
}

/** What a feature leases beside the policy; `leasedSections` makes it. */
export interface LeasedSections {
  load(context: SectionContext): LoadedSections | Promise<LoadedSections>;
}

/** Where a visit's calls are answered in a feature's own way: as whom, and what they see, is decided before. */
export interface EnvelopeContext {
  readonly view: View;
  readonly handlers: RequestHandlers;
  readonly requestScope: RequestScope;
}

/** A request at a tenant's door, as whoever tells of it sees it. */
export interface ObservedContext {
  readonly tenant: string;
  /** `known`: a failure where there is no such tenant. What it is named by then is whatever somebody wrote. */
  readonly target: { readonly profile: string | null; readonly tenantResult: object };
  readonly placement: Placement;
  readonly era: Era;
  /** Undefined until it was let in. */
  readonly requestScope: ViewScope | undefined;
  readonly sentText: string | undefined;
  /** Where it is, for who is told of an error. */
  readonly errorContext: ErrorContext;
  /** Somebody works on what came in. */
  readonly isBusy: boolean;
}

/** What one request leaves behind on its way, for the one feature that tells of requests. */
export interface RequestTelemetry {
  /** In the place of the Worker's own. */
  readonly env: Bindings;
  /** In the place of the deployment's, for what this request runs. */
  readonly hooks: Hooks;
  setContext(context: ObservedContext): void;
  /** What `ctx.fetch` sends along. `meta`: that of the call. */
  trace(meta: unknown): TraceContext | undefined;
  recordCall(call: McpRequest, answer: EncodedResponse): void;
  /** Nobody works on what came in any more. */
  recordDone(): void;
  /** undefined: there was none, because something threw. `error`: why it was refused, as far as its status says so. */
  recordResponse(response: Response | undefined, error: string | undefined): void;
}

/** A visit that was let in. */
export type ViewScope = RequestScope & Pick<EnvelopeContext, "view">;

/** What a wrapped body holds. */
export interface GatewayEnvelope {
  /** The JSON-RPC message. */
  readonly message: unknown;
  /** The same with the tool that it calls under the name that this view gives it: as limits count it. */
  toLimitedMessage(view: View): unknown;
  answer(call: McpRequest, visit: EnvelopeContext): CallOutcome | Promise<CallOutcome>;
}

/** What an operator's request brings along for a tenant's upstreams. */
export interface UpstreamContext extends RefreshContext {
  /** What stands for the tenant in the keys of bodies: `keptUnder`. */
  readonly storageKey: string;
  readonly bodies: KVNamespace;
  /** Who asks. */
  readonly actor: Actor;
}

/** What an upstream lists, and what of it is left out. */
export interface UpstreamContent {
  /** How it is spoken to. */
  readonly way: "2025" | "2026" | "http-sse";
  readonly revision: string;
  readonly counts: Readonly<Record<ListedKind, number>>;
  readonly quarantined: readonly {
    readonly kind: ListedKind | "instructions";
    readonly name: string;
    readonly why: string;
    readonly code?: CauseCode;
  }[];
  /** How many more are left out. */
  readonly unnamed: number;
  /** What is listed and deserves a second look, the first hundred. */
  readonly flagged: readonly { readonly kind: ListedKind; readonly name: string; readonly flags: readonly string[] }[];
  /** What was not read, because it was too much or failed; null: everything was. */
  readonly capped: string | null;
  /** How many events of its streams were no messages, and were skipped. */
  readonly skipped: number;
}

/** An upstream as operators see it. Times are milliseconds since the epoch. */
export interface UpstreamReport {
  readonly state: "fresh" | "lastGood" | "degraded" | "unread" | "disabled";
  readonly why: string | null;
  /** `why` as codes. */
  readonly causes: readonly Cause[];
  /** Since when it cannot be read. */
  readonly since: number | null;
  /** As it was last read; null: it never was as it is configured. */
  readonly content: UpstreamContent | null;
  readonly lastRead: number | null;
  readonly nextRead: number | null;
  /** Somebody is reading it. */
  readonly reading: boolean;
}

/** What a server calls itself. */
export type UpstreamServer = { readonly [member in "name" | "version"]?: string };

/** What a try of an upstream found. */
export type UpstreamTrial = { readonly ms: number; readonly causes: readonly Cause[] } & (
  | { readonly fault: string }
  | {
      readonly content: UpstreamContent;
      readonly server: UpstreamServer;
      /** Tools that are listed although a known client refuses them, the first hundred. */
      readonly refused: readonly { readonly name: string; readonly why: string }[];
    }
);

/** How operators look at a tenant's upstreams and have them read. What is configured is the document's. */
export interface UpstreamOperations {
  /** What a tenant's own administrator may write where no operator says it. */
  readonly bounds?: UpstreamBounds | undefined;
  /** By id: of every upstream in the document. */
  report(context: UpstreamContext): Promise<ReadonlyMap<string, UpstreamReport>>;
  /** Reads it now, or waits for whoever does: resolves when that is done. false: it has been configured anew meanwhile. */
  refresh(context: UpstreamContext, id: string): Promise<boolean>;
  /** Reads it once more beside all that, and keeps nothing. */
  test(context: UpstreamContext, id: string): Promise<UpstreamTrial>;
}

/** What somebody let a client do, as operators see it. Times are milliseconds since the epoch. */
export interface GrantReport {
  readonly id: string;
  readonly client: { readonly id: string; readonly name: string };
  readonly principal: string;
  readonly person: { readonly name?: string; readonly email?: string };
  /** The URL of the endpoint that it is for. */
  readonly resource: string;
  readonly profile: string | null;
  /** null: nothing limits the person. */
  readonly scopes: readonly string[] | null;
  readonly narrowing: ToolRestrictions;
  readonly created: number;
  readonly usedAt: number;
  readonly expires: number;
}

/** A client at which people sign in, as operators see it. */
export interface LoginClientReport {
  readonly id: string;
  /** `document`: its id is the URL of its metadata. */
  readonly kind: "registered" | "document";
  readonly name: string;
  readonly redirects: readonly string[];
  readonly usedAt: number;
}

/** How operators look at what people of one tenant let clients do, and end it. Lists are by id, from the one after `after`. */
export interface LoginOperations {
  grants(after: string, most: number, principal?: string): Promise<readonly GrantReport[]>;
  clients(after: string, most: number): Promise<readonly LoginClientReport[]>;
  endGrant(id: string, actor: Actor): Promise<WriteResult>;
  /** Forgets it, and ends all that it was granted. */
  endClient(id: string, actor: Actor): Promise<WriteResult>;
}

/** A request of a tenant's caller that was let in, and what it is answered. */
export interface CompletedCall {
  readonly requestScope: ViewScope & {
    readonly document: TenantDocument;
    readonly context: { readonly envelope?: GatewayEnvelope | undefined };
    onError(error: unknown): void;
  };
  readonly call: Pick<McpRequest, "method" | "params">;
  readonly response: EncodedResponse;
  /** What the answer was made of; undefined where it is an error that was met on the way. */
  readonly outcome?: CallOutcome | undefined;
}

/** What became of a message to a webhook. `status`: null where there was no answer; `why`: null where it was delivered. */
export interface WebhookTrial {
  readonly delivered: boolean;
  readonly status: number | null;
  readonly why: string | null;
  readonly milliseconds: number;
}

/** How operators look at a tenant's webhooks. */
export interface WebhookOperations {
  /** Sends a message that says nothing; undefined: there is no such webhook. */
  test(
    context: Pick<RefreshContext, "tenant" | "document" | "env" | "secret">,
    name: string,
  ): Promise<WebhookTrial | undefined>;
  queue(stub: TenantStub): Promise<{ readonly waiting: number; readonly dropped: number }>;
}

/** A member of a document that a feature refuses, by its path, and the rule that it breaks. */
export interface FieldError {
  readonly field: string;
  readonly rule: string;
}

/** What the package's own features do beside what an author's may. */
export interface BuiltInFeature extends Feature {
  readonly routes?: BuiltInRoutes | readonly BuiltInRoutes[];
  /** The sections that its sources are made of; a feature without them needs none. */
  readonly sections?: LeasedSections;
  /** What it refuses of a tenant's document, in which everything under it is merged in. `env`: absent for one in code. */
  checkDocument?(document: TenantDocument, env: Bindings | undefined): readonly FieldError[];
  /**
   * Looks after the tenant, beside a request that was let in: gives the time (milliseconds since the epoch) from which on
   * this isolate shall call it again. A new version of the policy calls it too.
   */
  readonly refresh?: (context: RefreshContext) => Promise<number>;
  /** Of the one feature that knows callers by more than keys: says who calls a tenant whose document has `auth`. */
  readonly resolvePrincipal?: (context: CallerContext) => Principal | Failure | Promise<Principal | Failure>;
  /** Of the same feature: makes `ctx.identity`. */
  readonly identity?: (context: IdentityContext) => Identity;
  /** Of the one feature that knows operators by more than tokens that the platform made. */
  readonly operators?: OperatorSignIn;
  /** Of the same feature, where the document has `auth`: why what came in wants another credential, or one that may do more. */
  readonly requireStepUp?: (context: AuthorizedContext, body: unknown) => Failure | undefined;
  /** Made anew with each version of a tenant's policy, and listed after the tenant's own. */
  sources?(tenant: SectionedTenant): readonly Source<RequestScope>[];
  /** Of features whose callers bring credentials: why what comes with one is refused before that is read. */
  readonly transportError?: (request: Request) => Failure | undefined;
  /** Of the one feature that has upstreams. */
  readonly upstreams?: UpstreamOperations;
  /** Of the one feature at which people sign in. */
  readonly logins?: (stub: TenantStub) => LoginOperations;
  /** Of the one feature with work that the alarm of its object begins, in an invocation of its own. */
  readonly background?: (deployment: Deployment, env: Bindings, order: unknown) => Promise<void>;
  /** Of the one feature that tells of requests: called for each, before anything is looked at. */
  readonly observe?: (
    invocation: { readonly request: Request; readonly env: Bindings; waitUntil(work: Promise<unknown>): void },
    hooks: Hooks,
  ) => RequestTelemetry;
  /**
   * Hears of each request of a tenant's caller that was let in, when its answer is known: keep it quick. The answer waits for
   * what it returns.
   */
  readonly onCallCompleted?: (completedCall: CompletedCall) => Promise<unknown> | undefined;
  /** Of the one feature that shows which limits were met: called for each time that one is, and costs the request nothing. */
  readonly onLimitExceeded?: (
    context: ExceededLimitContext,
    exceeded: { readonly name: string; readonly most: number },
  ) => void;
  /** Of the one feature that counts calls. */
  readonly usage?: (stub: TenantStub) => UsageReader;
  /** Of the one feature that records calls. */
  readonly callAudit?: (stub: TenantStub) => CallAuditReader;
  /** Of the one feature that tells people what happens; it costs the call nothing that met it. */
  readonly emitEvent?: (requestScope: RequestScope, news: TenantEvent) => void;
  /** Of the same feature. */
  readonly webhooks?: WebhookOperations;
  /** Of the one feature that shows people pages, where programs are told JSON. */
  readonly pages?: Pages;
  /** Of features that keep results: what `ctx.link` was given, and what was too long of one. */
  readonly results?: ResultStore;
}

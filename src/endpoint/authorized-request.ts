// An authorized request: its policy, its principal and its view. Handlers, sessions and streams work with it, and can
// authorize it again when its lease has ended.

import { ANONYMOUS, type Principal } from "../auth/principal.ts";
import type { KeyRing } from "../auth/seal.ts";
import type { Around, RequestScope, Hooks } from "../handlers/request-scope.ts";
import type { ResourceStore } from "../handlers/resource-store.ts";
import { ViewRequestHandlers } from "../catalog/view-request-handlers.ts";
import type { View } from "../catalog/view.ts";
import { createViewStore } from "../resources/view-store.ts";
import type { EffectiveLimits } from "../limits/limit-definitions.ts";
import type { RequestHandlers } from "../protocol/request-handlers.ts";
import type { McpRequest } from "../protocol/mcp-request.ts";
import { hopsOf } from "../outbound/hops.ts";
import { failure, type Failure } from "../protocol/errors.ts";
import type { JsonObject } from "../protocol/jsonrpc.ts";
import { isFailure } from "../protocol/methods/params.ts";
import { parseUri } from "../protocol/uri.ts";
import { createSessionStubs, type SessionStubs } from "../sessions/session-stubs.ts";
import type { SessionCaller } from "../sessions/session-caller.ts";
import { storageKey, type TenantUid, type TenantStub } from "../tenants/object/tenant-uid.ts";
import { isLeased, type CachedPolicy } from "../tenants/cache/policy-cache.ts";
import type { TenantDocument } from "../tenants/document/tenant-document.ts";
import { readSecret } from "../tenants/cache/tenant-secrets.ts";
import { requestIdOf } from "../telemetry/request-id.ts";
import type { RequestContext } from "./request-context.ts";

/** One quarter of a tenant's sessions is reserved for callers with a key. */
const RESERVED_FRACTION = 4;

export interface AuthorizationGrant {
  readonly context: RequestContext;
  readonly cachedPolicy: CachedPolicy;
  readonly principal: Principal;
  readonly view: View;
  readonly document: TenantDocument;
  readonly limits: EffectiveLimits;
  readonly refreshBy: RequestScope["refreshBy"];
  /** Authorizes the same request again. */
  readonly reauthorize: (context: RequestContext) => Promise<AuthorizedRequest | Failure>;
}

export class AuthorizedRequest implements RequestScope, SessionCaller {
  readonly kind = "authorized";
  readonly context: RequestContext;
  readonly cachedPolicy: CachedPolicy;
  readonly principal: Principal;
  readonly view: View;
  readonly document: TenantDocument;
  readonly limits: EffectiveLimits;
  readonly refreshBy: RequestScope["refreshBy"];
  #handlers: RequestHandlers | undefined;
  #sessionStubs: SessionStubs | undefined;

  readonly #reauthorize: AuthorizationGrant["reauthorize"];

  constructor({
    context,
    cachedPolicy,
    principal,
    view,
    document,
    limits,
    refreshBy,
    reauthorize,
  }: AuthorizationGrant) {
    this.context = context;
    this.cachedPolicy = cachedPolicy;
    this.principal = principal;
    this.view = view;
    this.document = document;
    this.limits = limits;
    context.limits = limits;
    context.requestScope = this;
    this.refreshBy = refreshBy;
    this.#reauthorize = reauthorize;
  }

  /** Whether the lease is still valid. Until it ends, no withdrawal made since its start is acknowledged to anybody. */
  get isLeased(): boolean {
    return isLeased(this.cachedPolicy);
  }

  /**
   * Checks authorization again just before a handler runs, after a wait for a hook or a validation. Costs one
   * comparison while the lease is valid. A failure: the call's target was withdrawn meanwhile.
   */
  async recheck(call: McpRequest, checkDocument?: DocumentCheck): Promise<Failure | undefined> {
    if (this.isLeased) return undefined;
    const reauthorized = await this.#reauthorize(this.context);
    if (isFailure(reauthorized)) return reauthorized;
    if (reauthorized.cachedPolicy.version === this.cachedPolicy.version && reauthorized.document === this.document)
      return undefined;
    return checkStillVisible(call, reauthorized) ?? checkDocument?.(reauthorized.document);
  }

  get handlers(): RequestHandlers {
    return (this.#handlers ??= new ViewRequestHandlers(this.view, this));
  }

  get mount(): string {
    return this.context.deployment.path;
  }
  get tenant(): string {
    return this.context.tenant;
  }
  get created(): TenantUid {
    return this.cachedPolicy.created;
  }
  get tenantRef(): RequestScope["tenantRef"] {
    return { id: this.tenant, placement: this.context.placement, uid: this.created };
  }
  get profile(): string | null {
    return this.context.target.profile;
  }
  owner(): Promise<string> {
    return this.context.ownerOf(this.principal.id);
  }
  get trace(): RequestScope["trace"] {
    const { telemetry } = this.context;
    return telemetry && ((meta) => telemetry.trace(meta));
  }
  get hops(): number {
    return hopsOf(this.context.request.headers);
  }
  get sentText(): string | undefined {
    return this.context.sentText;
  }
  get headers(): Headers {
    return this.context.request.headers;
  }
  get requestId(): string {
    return requestIdOf(this.context.request);
  }
  get around(): RequestScope["around"] {
    const { deployment, target } = this.context;
    const tenantAround = isFailure(target.tenantResult)
      ? undefined
      : (target.tenantResult.definition?.around as Around | undefined);
    if (!deployment.around && !tenantAround) return undefined;
    return [deployment.around, tenantAround].filter((one) => one !== undefined);
  }
  clientHeader(name: string): string | null {
    return this.context.request.headers.get(name);
  }
  get credential(): RequestContext["target"]["credential"] {
    return this.context.target.credential;
  }
  get access(): View {
    return this.view;
  }
  /** Every use of `env` is about to call a binding, so it counts as a subrequest. */
  get env(): RequestContext["env"] {
    this.context.subrequestCount += 1;
    return this.context.env;
  }
  get ring(): KeyRing {
    return this.cachedPolicy.ring;
  }
  get endedSessions(): CachedPolicy["endedSessions"] {
    return this.cachedPolicy.endedSessions;
  }
  get hooks(): Hooks {
    return this.context.hooks;
  }
  get results(): RequestScope["results"] {
    return this.context.deployment.features.find(({ results }) => results)?.results;
  }
  get emitEvent(): RequestScope["emitEvent"] {
    return this.context.deployment.features.find(({ emitEvent }) => emitEvent)?.emitEvent;
  }
  get identity(): RequestScope["identity"] {
    return this.context.deployment.features.find(({ identity }) => identity)?.identity?.(this);
  }
  get sessionStubs(): SessionStubs {
    this.context.subrequestCount += 1;
    const { jurisdiction } = this.context.placement;
    return (this.#sessionStubs ??= createSessionStubs(this.storageKey, this.env, {
      stub: () => this.stub(),
      jurisdiction,
      ownership: async ({ principal }) => {
        const { sessions: mostOfOwner, tenantSessions: mostOfAll } = this.context.limits;
        const spare = principal === ANONYMOUS.id ? Math.floor(mostOfAll / RESERVED_FRACTION) : 0;
        return {
          owner: await this.context.ownerOf(principal),
          maxPerOwner: mostOfOwner,
          maxPerTenant: mostOfAll,
          spare,
        };
      },
    }));
  }
  /** Represents the tenant in the names of data stored outside the tenant object. */
  get storageKey(): string {
    return storageKey(this.tenant, this.created);
  }

  resources(): ResourceStore {
    const { view, limits } = this;
    return createViewStore(
      { storageKey: this.storageKey, access: view, limits, bodies: this.env.BODIES },
      this.contentStub(),
    );
  }

  secret(name: string): Promise<string | undefined> {
    return readSecret({ env: this.env, cachedPolicy: this.cachedPolicy, stub: () => this.stub() }, name);
  }

  stub(): TenantStub {
    return this.context.stub(this.created);
  }

  contentStub(): TenantStub {
    return this.context.contentStub(this.cachedPolicy.created);
  }

  waitUntil(work: Promise<unknown>): void {
    this.context.waitUntil(work);
  }

  onError(error: unknown): void {
    this.context.onError(error);
  }
}

type DocumentCheck = Parameters<RequestScope["recheck"]>[1];

/** Why a call that names one thing is no longer allowed. Lists and completions concern the whole view. */
function checkStillVisible({ method, params }: McpRequest, { handlers, view }: AuthorizedRequest): Failure | undefined {
  if (method === "resources/read") return view.sees(uriOf(params)) ? undefined : failure("resourceNotFound");
  const [kind, verb] = method.split("/");
  if (verb !== "call" && verb !== "get") return undefined;
  const name = String(params.name);
  const item = verb === "get" ? handlers.prompt(name) : handlers.tool(name);
  if (item === undefined) return failure("invalidParams", `Unknown ${kind?.slice(0, -1)}: ${name}`);
  return isFailure(item) ? item : undefined;
}

/** Normalized as in the view; an invalid URI matches no pattern. */
function uriOf({ uri }: JsonObject): string {
  const parsed = parseUri(String(uri));
  return "uri" in parsed ? parsed.uri : "";
}

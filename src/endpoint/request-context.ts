// The context of one request to a tenant's endpoint: everything known before the tenant object is asked. Every entry
// point creates one, and `authorizeRequest` authorizes it.

import type { AppUser } from "../auth/app-user.ts";
import type { Credential } from "../auth/credential.ts";
import type { OriginVars } from "../auth/origin.ts";
import { ANONYMOUS, type Principal } from "../auth/principal.ts";
import type { Hooks } from "../handlers/request-scope.ts";
import type { NewResource } from "../handlers/resource-store.ts";
import type {
  Deployment,
  ViewScope,
  RequestTelemetry,
  ObservedContext,
  GatewayEnvelope,
} from "../deployment/deployment.ts";
import { addressOf, hashAddress } from "../limits/address.ts";
import { DEFAULT_LIMITS, type EffectiveLimits } from "../limits/limit-definitions.ts";
import type { OutboundVars } from "../outbound/guarded-fetch.ts";
import type { InboundHeaders } from "../protocol/classify.ts";
import { eraOfVersion, type Era } from "../protocol/revisions.ts";
import type { Failure } from "../protocol/errors.ts";
import { isFailure } from "../protocol/methods/params.ts";
import type { StreamEnv } from "../sessions/session-stubs.ts";
import type { SecretsKeyEnv } from "../auth/secrets-key.ts";
import type { RequestBody } from "../streams/request-body.ts";
import { contentStubOf, tenantStubOf } from "../tenants/directory/tenant-stubs.ts";
import { ANY_UID, type TenantUid, type TenantStub } from "../tenants/object/tenant-uid.ts";
import { DEFAULT_PLACEMENT, type Placement } from "../tenants/directory/placement.ts";
import type { Tenant } from "../tenants/document/tenant-definition.ts";
import type { ErrorContext } from "../telemetry/error-line.ts";
import type { CachedPolicy } from "../tenants/cache/policy-cache.ts";
import type { HostEnv } from "./find-tenant.ts";
import { requestIdOf } from "../telemetry/request-id.ts";

export interface LimitEnv {
  /**
   * Cloudflare's rate limiter, which all isolates of a location share. Without it each isolate counts for itself. In
   * `wrangler.toml`: `[[ratelimits]]`.
   */
  readonly RATE_LIMITS?: RateLimit;
}

/**
 * The bindings that a Worker reads. Only `BODIES` is required. Secrets are in `.dev.vars` for `wrangler dev`, and set by
 * `npx wrangler secret put NAME` for a deployment; variables are under `[vars]` in `wrangler.toml`.
 */
export interface Env extends OriginVars, HostEnv, OutboundVars, StreamEnv, SecretsKeyEnv, LimitEnv {
  /** Variable: the largest request body, in bytes; 4 MiB by default. */
  readonly MAX_BODY_BYTES?: string;
  /** Secret: the first owner's token of the admin API, 32 characters or more. Needed with the feature `admin()`. */
  readonly ADMIN_TOKEN?: string;
}

/** The arguments that the platform passes to one invocation. */
export interface Invocation {
  readonly request: Request;
  readonly env: Env;
  readonly ctx: { waitUntil(work: Promise<unknown>): void };
  /** The user that the mounting app authenticated. */
  readonly user?: AppUser;
  /** Set if a feature records requests. */
  readonly telemetry?: RequestTelemetry | undefined;
}

export interface EndpointTarget {
  readonly tenant: string;
  readonly profile: string | null;
  /** The part after `/mcp` of the URL under which the endpoint is shown. */
  readonly path: string;
  /** The request named no tenant, so this is the default one. */
  readonly isDefaultTenant?: boolean;
  /** The request named the tenant by its own hostname. */
  readonly isOwnHostname?: boolean | undefined;
}

export interface RequestTarget extends EndpointTarget {
  readonly credential: Credential;
  /**
   * A failure if there is no such tenant; it equals the response of a private tenant, so that nobody can probe for
   * tenants.
   */
  tenantResult: Tenant<NewResource> | Failure;
}

/** Limits what a client can write to the log. */
const LOGGABLE_METHOD = /^[\w/]{1,64}$/;

export class RequestContext implements ObservedContext {
  readonly deployment: Deployment;
  readonly request: Request;
  readonly env: Env;
  readonly target: RequestTarget;
  readonly telemetry: RequestTelemetry | undefined;
  readonly #executionContext: Invocation["ctx"];
  #tenantUid: TenantUid | undefined;
  #clientAddress: string | undefined;
  #inbound: InboundHeaders | undefined;
  #body: RequestBody | undefined;
  #activeWork = 0;
  /** Approximate number of subrequests so far. Long work moves to another invocation before the platform's limit. */
  subrequestCount = 0;
  /** The tenant's largest body, from its authorization on. */
  maxBodyBytes = DEFAULT_LIMITS.bodyBytes;
  /** The tenant's limits, from its authorization on. */
  limits: EffectiveLimits = DEFAULT_LIMITS;
  /** For a stored call, whose request is gone: the owner of what the call stores. */
  owner: string | undefined;
  /** For a stored call that was rejected on resumption: the principal that started it, for the records. */
  rejectedPrincipal: Principal | undefined;
  /** Undefined until the request is authorized. */
  requestScope: ViewScope | undefined;
  /** Set if the body is an envelope; answers its calls. */
  envelope: GatewayEnvelope | undefined;
  /** The body as received; undefined before it is read, and if there is no request. */
  sentText: string | undefined;
  /** The method of the call that started last. */
  method: string | undefined;

  constructor(deployment: Deployment, invocation: Invocation, target: RequestTarget) {
    const { request, env, ctx: executionContext, telemetry } = invocation;
    this.deployment = deployment;
    this.request = request;
    this.env = env;
    this.telemetry = telemetry;
    this.target = target;
    this.#executionContext = executionContext;
    telemetry?.setContext(this);
  }

  get tenant(): string {
    return this.target.tenant;
  }

  /** The owner of stored data. Anonymous callers are told apart by a hash of their address. */
  async ownerOf(principal: string): Promise<string> {
    return principal === ANONYMOUS.id ? (this.owner ?? hashAddress(this.clientAddress)) : principal;
  }

  /** The protocol headers. Parsed once, because each header read crosses from JavaScript into the runtime. */
  get inbound(): InboundHeaders {
    return (this.#inbound ??= parseInboundHeaders(this.request.headers));
  }

  get era(): Era {
    return eraOfVersion(this.inbound.version);
  }

  /** Tells callers without a credential apart. */
  get clientAddress(): string {
    return (this.#clientAddress ??= addressOf(this.request.headers));
  }

  get placement(): Placement {
    const { tenantResult } = this.target;
    return isFailure(tenantResult) ? DEFAULT_PLACEMENT : tenantResult.placement;
  }

  /**
   * A stub of the tenant object, usable in one request only. Without `uid`, the stub reaches the current holder
   * of the name.
   */
  stub(uid: TenantUid = ANY_UID): TenantStub {
    this.subrequestCount += 1;
    return tenantStubOf(this.env, { id: this.tenant, placement: this.placement, uid });
  }

  /** The same for the object that stores the tenant's content. */
  contentStub(uid: TenantUid): TenantStub {
    this.subrequestCount += 1;
    return contentStubOf(this.env, { id: this.tenant, placement: this.placement, uid });
  }

  /**
   * Whether a lease belongs to the tenant that had the name when the request arrived. After a long body or stream, a
   * request must not be authorized for another tenant that has taken the name since.
   */
  isSameTenant(uid: TenantUid): boolean {
    this.#tenantUid ??= uid;
    return this.#tenantUid === uid;
  }

  /** Whether the tenant's definition is known for this lease. A definition in the author's code never changes. */
  isTenantResolved(cachedPolicy: CachedPolicy): boolean {
    const { tenantResolver } = this.deployment;
    const { tenantResult } = this.target;
    if (!tenantResolver || isFailure(tenantResult) || !tenantResult.definition) return true;
    const resolved = tenantResolver.getForLease(cachedPolicy);
    if (resolved) this.target.tenantResult = resolved;
    return resolved !== undefined;
  }

  /** Holds the body until all work on it has ended. */
  retainBody(body: RequestBody): void {
    this.#body = body;
    this.#activeWork += 1;
  }

  /** Counts a piece of work on the request. Each call needs an `endWork`. */
  beginWork(): void {
    this.#activeWork += 1;
  }

  endWork(): void {
    this.#activeWork -= 1;
    if (this.#activeWork > 0) return;
    this.#body?.release();
    this.telemetry?.recordDone();
  }

  get isBusy(): boolean {
    return this.#activeWork > 0;
  }

  get hooks(): Hooks {
    return this.telemetry?.hooks ?? this.deployment.hooks;
  }

  get errorContext(): ErrorContext {
    const { tenant, request } = this;
    const messageMethod = this.method ?? this.inbound.method ?? "";
    const method = LOGGABLE_METHOD.test(messageMethod) ? messageMethod : request.method;
    return { tenant, profile: this.target.profile, method, requestId: requestIdOf(request) };
  }

  waitUntil(work: Promise<unknown>): void {
    this.#executionContext.waitUntil(work);
  }

  onError(error: unknown): void {
    this.hooks.onError?.(error, undefined, this.errorContext);
  }
}

/** Era 2026 has no sessions, and earlier revisions have no headers that repeat the body. */
function parseInboundHeaders(headers: Headers): InboundHeaders {
  const version = headers.get("mcp-protocol-version");
  return eraOfVersion(version) === "2026"
    ? { version, session: null, method: headers.get("mcp-method"), name: headers.get("mcp-name") }
    : { version, session: headers.get("mcp-session-id"), method: null, name: null };
}

/** Adds telemetry to the invocation if a feature records requests. */
export function withTelemetry({ observe, hooks }: Deployment, invocation: Invocation): Invocation {
  if (!observe || invocation.telemetry) return invocation;
  const { request, env, ctx } = invocation;
  const telemetry = observe({ request, env: env as never, waitUntil: (work) => ctx.waitUntil(work) }, hooks);
  return { ...invocation, env: telemetry.env as never, telemetry };
}

// Owns a visit: a request at a tenant's door, with everything that it says and nothing that its tenant's authority
// knows. Every way in begins with one, and `enter` lets it in.

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
import { contentStubOf } from "../resources/resource-stub.ts";
import { ANY_UID, type TenantUid, type TenantStub } from "../tenants/object/tenant-uid.ts";
import { DEFAULT_PLACEMENT, type Placement } from "../tenants/directory/placement.ts";
import { stubOf } from "../tenants/directory/tenant-stub.ts";
import type { Tenant } from "../tenants/document/tenant-definition.ts";
import type { ErrorContext } from "../telemetry/error-line.ts";
import type { CachedPolicy } from "../tenants/cache/policy-cache.ts";
import type { HostEnv } from "./find-tenant.ts";
import { requestIdOf } from "../telemetry/request-id.ts";

export interface LimitEnv {
  /** Optional: Cloudflare's limiter, which all isolates of a location share. See wrangler.toml. */
  readonly RATE_LIMITS?: RateLimit;
}

/** What a Worker must bind; see wrangler.toml. A feature may want more. */
export interface Env extends OriginVars, HostEnv, OutboundVars, StreamEnv, SecretsKeyEnv, LimitEnv {
  /** Bytes; 4 MiB when unset. */
  readonly MAX_BODY_BYTES?: string;
}

/** What the platform hands to one invocation. */
export interface Invocation {
  readonly request: Request;
  readonly env: Env;
  readonly ctx: { waitUntil(work: Promise<unknown>): void };
  /** Whom the app named that mounts the Worker. */
  readonly user?: AppUser;
  /** Where a feature tells of requests. */
  readonly telemetry?: RequestTelemetry | undefined;
}

/** Where a visit is headed. */
export interface EndpointTarget {
  readonly tenant: string;
  readonly profile: string | null;
  /** What follows `/mcp` in the URL under which this is shown. */
  readonly path: string;
  /** No tenant was named: it is the default one. */
  readonly isDefaultTenant?: boolean;
  /** It was named by a hostname of its own. */
  readonly isOwnHostname?: boolean | undefined;
}

export interface RequestTarget extends EndpointTarget {
  readonly credential: Credential;
  /** A failure: there is no such tenant. It is what a private tenant would answer. */
  tenantResult: Tenant<NewResource> | Failure;
}

/** What a client may have the log say. */
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
  /** About how often it asked objects and others: what it does for long is asked to go on elsewhere. */
  subrequestCount = 0;
  /** How large its tenant lets a body be, from when it was let in. */
  maxBodyBytes = DEFAULT_LIMITS.bodyBytes;
  /** The tenant's, from when it was let in. */
  limits: EffectiveLimits = DEFAULT_LIMITS;
  /** Of a stored call, whose request is gone: whose what it keeps is. */
  owner: string | undefined;
  /** Of a stored call that was refused when it was to go on: who was let in with it, in whose words that is noted. */
  rejectedPrincipal: Principal | undefined;
  /** Undefined until it was let in. */
  requestScope: ViewScope | undefined;
  /** Set where the body was wrapped: how its calls are answered. */
  envelope: GatewayEnvelope | undefined;
  /** The body as it came; undefined before it was read, and where there is no request. */
  sentText: string | undefined;
  /** Of the call that was begun last. */
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

  /** Whose something is that is kept: of those without a credential, by where they come from. */
  async ownerOf(principal: string): Promise<string> {
    return principal === ANONYMOUS.id ? (this.owner ?? hashAddress(this.clientAddress)) : principal;
  }

  /** What the headers say of the message. Read once: each header that is read is a step out of JavaScript. */
  get inbound(): InboundHeaders {
    return (this.#inbound ??= parseInboundHeaders(this.request.headers));
  }

  get era(): Era {
    return eraOfVersion(this.inbound.version);
  }

  /** By which callers without a credential are told apart. */
  get clientAddress(): string {
    return (this.#clientAddress ??= addressOf(this.request.headers));
  }

  get placement(): Placement {
    const { tenantResult } = this.target;
    return isFailure(tenantResult) ? DEFAULT_PLACEMENT : tenantResult.placement;
  }

  /** A stub of the tenant's authority, which belongs to one request. `incarnation`: absent to ask who has the name. */
  stub(incarnation: TenantUid = ANY_UID): TenantStub {
    this.subrequestCount += 1;
    return stubOf(this.env, { id: this.tenant, placement: this.placement, uid: incarnation });
  }

  /** The same of the object that keeps the tenant's content. */
  contentStub(incarnation: TenantUid): TenantStub {
    this.subrequestCount += 1;
    return contentStubOf(this.env, { id: this.tenant, placement: this.placement, uid: incarnation });
  }

  /**
   * Whether a lease is one of the tenant that this visit is to: the one that had the name when it came. Whoever is let in
   * again later, because their body or their stream took long, does not find another in its place.
   */
  isSameTenant(incarnation: TenantUid): boolean {
    this.#tenantUid ??= incarnation;
    return this.#tenantUid === incarnation;
  }

  /** Whether it is known what the tenant is, as long as this lease lasts. In an author's code that never changes. */
  isTenantResolved(snapshot: CachedPolicy): boolean {
    const { tenantResolver } = this.deployment;
    const { tenantResult } = this.target;
    if (!tenantResolver || isFailure(tenantResult) || !tenantResult.definition) return true;
    const resolved = tenantResolver.getForLease(snapshot);
    if (resolved) this.target.tenantResult = resolved;
    return resolved !== undefined;
  }

  /** From now on this body is held, until whoever works on it is done. */
  retainBody(body: RequestBody): void {
    this.#body = body;
    this.#activeWork += 1;
  }

  /** One more works on what came in. Each has to say `done`. */
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

/** The same where a feature tells of requests: then it leaves a trail. */
export function withTelemetry({ observe, hooks }: Deployment, invocation: Invocation): Invocation {
  if (!observe || invocation.telemetry) return invocation;
  const { request, env, ctx } = invocation;
  const telemetry = observe({ request, env: env as never, waitUntil: (work) => ctx.waitUntil(work) }, hooks);
  return { ...invocation, env: telemetry.env as never, telemetry };
}

// One attempt of a call at an upstream. Forwards the upstream's notifications to the client, and its questions if both
// speak the same era.

import { ANONYMOUS } from "../auth/principal.ts";
import { canonicalJson } from "../auth/seal.ts";
import type { RequestScope } from "../handlers/request-scope.ts";
import { bindingOf, sealUpstreamState } from "../handlers/request-state.ts";
import type { SendOptions, ResultMessage } from "../mcp-client/request-result.ts";
import { isTransientFault, McpFault, type Fault } from "../mcp-client/fault.ts";
import { paramsOf, type NotificationMessage } from "../mcp-client/message.ts";
import type { McpRequest } from "../protocol/mcp-request.ts";
import type { ServerInfo } from "../protocol/definition.ts";
import type { Era } from "../protocol/revisions.ts";
import { failure, type Failure } from "../protocol/errors.ts";
import type { ParamHeader } from "../protocol/headers.ts";
import type { JsonObject } from "../protocol/jsonrpc.ts";
import { isLogLevel, isAtLeast, type LogLevel } from "../protocol/meta.ts";
import { SerializedResult, type CallOutcome } from "../protocol/call-outcome.ts";
import { withMember, withMeta } from "../mcp-client/json-text.ts";
import { createRpcClient } from "../tenants/object/store.ts";
import { withTimeout } from "../tenants/cache/with-timeout.ts";
import type { TenantDocument, UpstreamDocument } from "../tenants/document/tenant-document.ts";
import { createQuestionHandler, toUpstreamCapabilities, toUpstreamExtensions } from "./forward-question.ts";
import { parseUpstreamResult } from "./upstream-result.ts";
import { callLimits, type Deadline } from "./call-deadline.ts";
import type { ResponseBudget } from "./guard/response-budget.ts";
import type { Redaction } from "./guard/redaction.ts";
import { toPrivateScope } from "./guard/cache-scope.ts";
import { getServiceFetch, serviceGrantError, type Services } from "./guard/service-binding.ts";
import { getRawArguments } from "./guard/raw-arguments.ts";
import { waitToRetry } from "./guard/call-retry.ts";
import { gatewayStore } from "./gateway-store.ts";
import { createUpstreamFetch } from "./upstream-fetch.ts";
import {
  faultToFailure,
  isOtherServerOrEra,
  isDisconnected,
  isLocalLimit,
  isSessionUnknown,
  type UpstreamErrorContext,
} from "./upstream-error.ts";
import type { LinkTransport } from "./upstream-catalog.ts";
import {
  configHashOf,
  headerCredentialOf,
  enabledUpstreams,
  endpointOf,
  isTokenStale,
  type AuthorizedHeaders,
} from "./upstream-config.ts";
import { requestLogLevel, LEVEL_WAIT_MS, openLink, withoutOwnMeta, type LinkConfig } from "./upstream-link.ts";
import { timeoutOf } from "./upstream-rules.ts";
import { SharedSessionClient } from "./sessions/shared-session-client.ts";
import { acquireLink, type LinkHandle } from "./sessions/session-pool.ts";

/** `_meta` key of a result whose upstream session restarted during the call, so that its state was lost. */
const SESSION_KEY = "tenantry/session";

export interface UpstreamTarget {
  readonly id: string;
  readonly document: UpstreamDocument;
  readonly configHash: string;
  readonly transport: LinkTransport;
  readonly revision: string;
  /** The upstream sends log messages if a level was requested. */
  readonly logging: boolean;
  /** `false` if the upstream does not support completion. */
  readonly completes: false | undefined;
  readonly server: ServerInfo;
  /** Service bindings that the Worker exposes; the upstream may be one of them. */
  readonly services: Services;
  /** The last refresh known to this policy failed, so the problem is known already. */
  readonly isFailing: boolean;
}

export interface ForwardRequest {
  readonly method: string;
  /** Params from the client, with the upstream's own names. */
  readonly params: JsonObject;
  readonly paramHeaders?: readonly ParamHeader[];
  /** The call may run twice without harm. */
  readonly repeatable: boolean;
  /** Transforms the JSON of the upstream's result. Absent if the result stays as it is. */
  readonly transformResult?: (json: string) => string;
}

/**
 * Retries that earlier attempts used up. A call refused for its access token has not run, and goes once more with a new
 * token.
 */
export interface PreviousAttempt {
  readonly hasNewToken: boolean;
  readonly retries: number;
}

export interface ForwardContext {
  readonly request: ForwardRequest;
  readonly call: McpRequest;
  readonly requestScope: RequestScope;
  readonly deadline: Deadline;
  readonly responseBudget: ResponseBudget;
}

interface AttemptContext extends ForwardContext {
  readonly redaction: Redaction;
}

export function callErrorContextOf(
  { id, document, transport }: UpstreamTarget,
  { call, request }: ForwardContext,
): UpstreamErrorContext {
  return {
    server: id,
    timeoutMs: timeoutOf(document),
    era: call.revision.era,
    upstreamEra: transport === "2026" ? "2026" : "2025",
    ownCapabilities: false,
    method: request.method,
  };
}

export class UpstreamCall {
  readonly #upstream: UpstreamTarget;
  readonly #context: AttemptContext;
  readonly #authorizedHeaders: AuthorizedHeaders;
  readonly #linkConfig: LinkConfig;
  readonly #forwardsQuestions: boolean;
  #level: Promise<LogLevel | undefined> | undefined;
  /** How often the upstream announced changed lists during this call. */
  #listChanges = 0;
  #isNewSession = false;
  /** The upstream has sent something about this call. */
  hasOutput = false;

  constructor(upstream: UpstreamTarget, authorizedHeaders: AuthorizedHeaders, context: AttemptContext) {
    const { call, requestScope, responseBudget } = context;
    this.#upstream = upstream;
    this.#context = context;
    this.#authorizedHeaders = authorizedHeaders;
    const headers = { ...authorizedHeaders.trace, ...authorizedHeaders.headers };
    const { era } = call.revision;
    this.#forwardsQuestions = era === this.#era && (era === "2026" || call.clientRequester !== undefined);
    const { name, version } = upstream.server;
    const upstreamFetch = createUpstreamFetch(
      requestScope,
      getServiceFetch(upstream.document, upstream.services, requestScope.env),
    );
    this.#linkConfig = {
      endpoint: {
        ...endpointOf(upstream.document, headers, upstreamFetch, callLimits(this.#era)),
        reserveBytes: responseBudget.reserve,
      },
      client: {
        clientInfo: { name, version },
        capabilities: this.#forwardsQuestions ? toUpstreamCapabilities(call) : toUpstreamExtensions(call),
        ...(call.logLevel === undefined ? {} : { logLevel: call.logLevel }),
      },
      transport: upstream.transport,
    };
  }

  get #era(): Era {
    return this.#upstream.transport === "2026" ? "2026" : "2025";
  }

  async run(): Promise<CallOutcome> {
    const { requestScope, request } = this.#context;
    const handle = await this.#acquireHandle();
    try {
      return await this.#sendChecked(handle);
    } catch (error) {
      // Awaited, so that the next call does not get the lost session again.
      const isLost = error instanceof McpFault && (await handle.reportFailure?.(error.fault));
      if (!isLost || !handle.session) throw error;
      const hasNotRun = !this.hasOutput && isSessionUnknown(error.fault);
      if (!request.repeatable && !hasNotRun) throw error;
      return await this.#retryInNewSession(handle.session.shared?.tag);
    } finally {
      if (this.#listChanges > 1) this.#markStale();
      if (handle.release) requestScope.waitUntil(handle.release());
    }
  }

  /**
   * Retries once in a new session after the old one was lost. The session's state at the upstream is gone, and the
   * result says so.
   */
  async #retryInNewSession(staleTag: string | undefined): Promise<CallOutcome> {
    const handle = await this.#acquireHandle(staleTag);
    this.#isNewSession = true;
    try {
      return await this.#sendChecked(handle);
    } catch (error) {
      if (error instanceof McpFault) await handle.reportFailure?.(error.fault);
      throw error;
    } finally {
      if (handle.release) this.#context.requestScope.waitUntil(handle.release());
    }
  }

  /**
   * Opening a session, or having it refused, may have taken as long as a policy lease, so the call is authorized again.
   */
  async #sendChecked(handle: LinkHandle): Promise<CallOutcome> {
    const { call, requestScope } = this.#context;
    const rejection = await requestScope.recheck(call, (document) => this.#checkStillConfigured(document));
    return rejection ?? this.#toOutcome(await this.#send(handle));
  }

  /** An upstream that was removed, moved or disabled meanwhile may have to receive nothing more. */
  #checkStillConfigured(document: TenantDocument): Failure | undefined {
    const { id, configHash, document: upstream } = this.#upstream;
    const current = enabledUpstreams(document).find((one) => one.id === id)?.upstream;
    if (current && configHashOf(current) === configHash && serviceGrantError(document, upstream) === undefined)
      return undefined;
    return failure("unreachableServer", "Failed to connect to server: its configuration changed, try again", {
      server: id,
      fault: "changed",
    });
  }

  /** Whether and why the call may be sent once more. Waits until the retry may start. */
  async waitForRetry(fault: Fault, previous: PreviousAttempt): Promise<PreviousAttempt | undefined> {
    if (!previous.hasNewToken && isTokenStale(fault, this.#authorizedHeaders))
      return { ...previous, hasNewToken: true };
    const { request, deadline } = this.#context;
    if (!request.repeatable || this.hasOutput) return undefined;
    const mayRetry = await waitToRetry(fault, this.#upstream.document, previous, deadline);
    return mayRetry ? { ...previous, retries: previous.retries + 1 } : undefined;
  }

  toFailure({ fault }: McpFault, retryAfter: number | undefined): Failure {
    // Requests an early refresh, so that a lost upstream is noticed now and not when the refresh would be due.
    const isSilent = !this.hasOutput && isDisconnected(fault) && !isLocalLimit(fault);
    // An upstream known to be failing is refreshed on schedule.
    const isKnown = this.#upstream.isFailing && isTransientFault(fault);
    if ((isSilent || isOtherServerOrEra(fault)) && !isKnown) this.#requestRefresh();
    const errorContext = {
      ...callErrorContextOf(this.#upstream, this.#context),
      ownCapabilities: this.#forwardsQuestions,
      retryAfter,
    };
    return this.#context.redaction.value(faultToFailure(fault, errorContext));
  }

  async #acquireHandle(staleTag?: string): Promise<LinkHandle> {
    // In era 2025 the level is stored with the session elsewhere, so it is read only if log messages may come.
    const level = this.#upstream.logging ? await this.#logLevel() : undefined;
    const linkConfig =
      level === undefined
        ? this.#linkConfig
        : { ...this.#linkConfig, client: { ...this.#linkConfig.client, logLevel: level } };
    const { requestScope, deadline } = this.#context;
    const { signal } = deadline;
    const waitUntil = (work: Promise<unknown>) => requestScope.waitUntil(work);
    if (this.#upstream.transport === "2025") {
      const { tenant, principal } = requestScope;
      const isAnonymous = principal.id === ANONYMOUS.id;
      const owner = { tenant, principal: principal.id };
      const key = this.#sessionKey(level);
      const { id, document: upstream } = this.#upstream;
      const createShare = () =>
        new SharedSessionClient({ host: requestScope, id, upstream, key, filled: this.#authorizedHeaders });
      const callMs = timeoutOf(upstream);
      return acquireLink({
        key,
        owner,
        linkConfig,
        level,
        isAnonymous,
        signal,
        waitUntil,
        callMs,
        createShare,
        staleTag,
      });
    }
    const link = await openLink(linkConfig, { signal });
    if (level !== undefined && link.transport === "http-sse") {
      await requestLogLevel(link, level, { clock: linkConfig.endpoint.clock, signal, waitUntil });
    }
    return link.transport === "2026" ? { link } : { link, release: async () => link.close() };
  }

  /** A session has one log level, so a call with another level needs another session. */
  #sessionKey(level: LogLevel | undefined): string {
    const { tenant, principal } = this.#context.requestScope;
    const { id, configHash } = this.#upstream;
    const { capabilities } = this.#linkConfig.client;
    return canonicalJson([
      tenant,
      principal.id,
      id,
      configHash,
      headerCredentialOf(this.#authorizedHeaders),
      capabilities,
      level ?? null,
    ]);
  }

  #send({ link, onQuestion }: LinkHandle): Promise<ResultMessage> {
    const { call, requestScope, request, deadline } = this.#context;
    const { method, paramHeaders } = request;
    const params = this.#era === "2025" ? withoutOwnMeta(request.params) : request.params;
    const options: SendOptions = {
      signal: deadline.signal,
      onNotification: (message) => this.#onNotification(message),
      ...(this.#forwardsQuestions &&
        this.#era === "2025" &&
        call.clientRequester && { onQuestion: createQuestionHandler(call.clientRequester, this.#context, onQuestion) }),
    };
    const wantsProgress = call.progressToken !== undefined;
    // Numbers mirrored in headers must equal those in the body, so the body uses our serialization.
    const isMirrored = paramHeaders !== undefined && paramHeaders.length > 0;
    const rawArguments = isMirrored ? undefined : getRawArguments(requestScope.sentText, params.arguments);
    return link.request(
      { method, params, rawArguments, wantsProgress, ...(paramHeaders && { paramHeaders }) },
      options,
    );
  }

  async #onNotification(message: NotificationMessage): Promise<void> {
    this.hasOutput = true;
    const { call, redaction } = this.#context;
    const params = redaction.value(paramsOf(message));
    if (message.method === "notifications/progress" && call.progressToken !== undefined) {
      call.sink.notify(message.method, { ...params, progressToken: call.progressToken });
    } else if (message.method === "notifications/message" && isLogLevel(params.level)) {
      const minimum = await this.#logLevel();
      if (minimum !== undefined && isAtLeast(params.level, minimum)) call.sink.notify(message.method, params);
    } else if (/^notifications\/(tools|prompts|resources)\/list_changed$/.test(message.method)) this.#requestRefresh();
  }

  #logLevel(): Promise<LogLevel | undefined> {
    const { logLevel, session } = this.#context.call;
    this.#level ??=
      logLevel === undefined && session
        ? // Without a level the server sends its own; the call matters more.
          withTimeout(session.logLevel(), LEVEL_WAIT_MS).catch(() => undefined)
        : Promise.resolve(logLevel);
    return this.#level;
  }

  /** Passes the upstream's JSON through if the client speaks the same era and a revision at least as new. */
  async #toOutcome({ result: upstreamJson }: ResultMessage): Promise<CallOutcome> {
    const { call, request, requestScope, redaction } = this.#context;
    const { revision } = call;
    const redacted = redaction.json(request.transformResult?.(upstreamJson) ?? upstreamJson);
    const scoped = requestScope.access.cacheScope === "public" ? redacted : toPrivateScope(redacted);
    const parsed =
      this.#era === "2026" ? parseUpstreamResult(scoped, { call, server: this.#upstream.id }) : { json: scoped };
    if ("kind" in parsed) return parsed;
    if (parsed.state !== undefined) return this.#sealQuestions(parsed.json, parsed.state);
    const result = this.#isNewSession ? withMeta(parsed.json, SESSION_KEY, "new") : parsed.json;
    const isSame =
      revision.era === this.#era && (revision.era === "2026" || this.#upstream.revision <= revision.version);
    if (isSame) return { kind: "complete", result: new SerializedResult(result, true) };
    const value = JSON.parse(result) as JsonObject;
    // Some servers of era 2025 omit empty content, which era 2026 does not allow.
    const content = request.method === "tools/call" && value.content === undefined ? { content: [] } : {};
    return { kind: "complete", result: { ...value, ...content } };
  }

  /** An upstream's questions, with its state sealed to this request. Only the same caller can send the state back. */
  async #sealQuestions(json: string, state: string): Promise<CallOutcome> {
    const { call, requestScope } = this.#context;
    const { id, configHash } = this.#upstream;
    const sealed = await sealUpstreamState({ ...bindingOf(requestScope), upstream: configHash }, call, state);
    if (sealed === undefined)
      return failure("faultyServer", `${id}: requestState is longer than 48 KiB`, { server: id, fault: "result" });
    return {
      kind: "complete",
      result: new SerializedResult(withMember(json, "requestState", JSON.stringify(sealed)), true),
    };
  }

  /**
   * Marks the catalog stale at the first announcement, and once more when the call ends if there were others. An
   * upstream must not keep the tenant object busy.
   */
  #requestRefresh(): void {
    this.#listChanges += 1;
    if (this.#listChanges === 1) this.#markStale();
  }

  #markStale(): void {
    const { requestScope } = this.#context;
    const dueAt = createRpcClient(requestScope.stub(), gatewayStore).markStale(this.#upstream.id);
    requestScope.waitUntil(
      dueAt.then(
        (time) => requestScope.refreshBy(time),
        () => undefined,
      ),
    );
  }
}

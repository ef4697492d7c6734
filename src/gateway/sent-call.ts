// Owns one request of a call to an upstream: what the upstream says meanwhile goes to the client, and what it asks as well
// where both speak the same era. Refuses to decide whether it is sent at all.

import { ANONYMOUS } from "../auth/principal.ts";
import { canonicalJson } from "../auth/seal.ts";
import type { RequestScope } from "../calls/call-host.ts";
import { bindingOf, sealUpstreamState } from "../calls/request-state.ts";
import type { SendOptions, ResultMessage } from "../mcp-client/ask.ts";
import { isTransientFault, McpFault, type Fault } from "../mcp-client/fault.ts";
import { paramsOf, type NotificationMessage } from "../mcp-client/message.ts";
import type { McpRequest } from "../protocol/call.ts";
import type { ServerInfo } from "../protocol/definition.ts";
import type { Era } from "../protocol/era.ts";
import { failure, type Failure } from "../protocol/errors.ts";
import type { ParamHeader } from "../protocol/headers.ts";
import type { JsonObject } from "../protocol/jsonrpc.ts";
import { isLogLevel, isAtLeast, type LogLevel } from "../protocol/meta.ts";
import { SerializedResult, type CallOutcome } from "../protocol/outcome.ts";
import { withMember, withMeta } from "../mcp-client/json-text.ts";
import { createRpcClient } from "../tenants/authority/tables.ts";
import { withTimeout } from "../tenants/isolate/in-time.ts";
import type { TenantDocument, UpstreamDocument } from "../tenants/document/tenant-document.ts";
import { createQuestionHandler, toUpstreamCapabilities, toUpstreamExtensions } from "./forward-question.ts";
import { parseUpstreamResult } from "./foreign-result.ts";
import { callLimits, type Deadline } from "./call-deadline.ts";
import type { ResponseBudget } from "./guard/answer-room.ts";
import type { Redaction } from "./guard/redaction.ts";
import { toPrivateScope } from "./guard/cache-scope.ts";
import { getServiceFetch, serviceGrantError, type Services } from "./guard/service-binding.ts";
import { getRawArguments } from "./guard/exact-arguments.ts";
import { waitToRetry } from "./guard/retry.ts";
import { gatewayStore } from "./gateway-tables.ts";
import { createUpstreamFetch } from "./outbound-fetch.ts";
import {
  faultToFailure,
  isOtherServerOrEra,
  isDisconnected,
  isLocalLimit,
  isSessionUnknown,
  type UpstreamErrorContext,
} from "./translate-error.ts";
import type { LinkTransport } from "./upstream-catalog.ts";
import {
  configOf,
  headerCredentialOf,
  enabledUpstreams,
  endpointOf,
  isTokenStale,
  type AuthorizedHeaders,
} from "./upstream-config.ts";
import { requestLogLevel, LEVEL_WAIT_MS, openLink, withoutOwnMeta, type LinkConfig } from "./upstream-link.ts";
import { timeoutOf } from "./upstream-rules.ts";
import { SharedSessionClient } from "./sessions/session-share.ts";
import { acquireLink, type LinkHandle } from "./sessions/upstream-sessions.ts";

/** The key in `_meta` of a result whose session at the upstream began anew during the call: what was kept there is gone. */
const SESSION_KEY = "tenantry/session";

/** An upstream as its calls need it. */
export interface UpstreamTarget {
  readonly id: string;
  readonly upstream: UpstreamDocument;
  readonly config: string;
  readonly transport: LinkTransport;
  readonly revision: string;
  /** It sends log messages, where somebody asks for them. */
  readonly logging: boolean;
  /** `false`: it completes nothing. */
  readonly completes: false | undefined;
  readonly server: ServerInfo;
  /** Service bindings that the Worker exposes: the upstream may be one. */
  readonly services: Services;
  /** It could not be read when its tenant was last told of it: it is known that something is wrong. */
  readonly isFailing: boolean;
}

export interface ForwardRequest {
  readonly method: string;
  /** As the client sent them, with the upstream's own names. */
  readonly params: JsonObject;
  readonly paramHeaders?: readonly ParamHeader[];
  /** What it asks for may be asked for twice. */
  readonly repeatable: boolean;
  /** What becomes of the result as the upstream wrote it; absent: nothing. */
  readonly transformResult?: (json: string) => string;
}

/** Why a call was sent before: what was refused for its access token has not run, and goes once more with another. */
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
  { id, upstream, transport }: UpstreamTarget,
  { call, request }: ForwardContext,
): UpstreamErrorContext {
  return {
    server: id,
    timeoutMs: timeoutOf(upstream),
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
  /** Whether what the upstream asks can be asked of the client. */
  readonly #forwardsQuestions: boolean;
  #level: Promise<LogLevel | undefined> | undefined;
  /** How often the upstream said in this call that it lists something else. */
  #listChanges = 0;
  #isNewSession = false;
  /** The upstream has said something about this call. */
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
      getServiceFetch(upstream.upstream, upstream.services, requestScope.env),
    );
    this.#linkConfig = {
      endpoint: {
        ...endpointOf(upstream.upstream, headers, upstreamFetch, callLimits(this.#era)),
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
      // Waited for: what is called next is not to be lent it again.
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

  /** Once, in a session that begins anew: the one before was lost. What it held at the upstream is gone, so the result says so. */
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

  /** The session may have taken as long to begin, or to be refused, as a lease lasts. */
  async #sendChecked(handle: LinkHandle): Promise<CallOutcome> {
    const { call, requestScope } = this.#context;
    const rejection = await requestScope.recheck(call, (document) => this.#checkStillConfigured(document));
    return rejection ?? this.#toOutcome(await this.#send(handle));
  }

  /** Whoever removes, moves or switches off an upstream may have done so because it must not hear anything any more. */
  #checkStillConfigured(document: TenantDocument): Failure | undefined {
    const { id, config, upstream } = this.#upstream;
    const current = enabledUpstreams(document).find((one) => one.id === id)?.upstream;
    if (current && configOf(current) === config && serviceGrantError(document, upstream) === undefined)
      return undefined;
    return failure("unreachableServer", "Failed to connect to server: it is not what it was when this call began", {
      server: id,
      fault: "changed",
    });
  }

  /** Whether it may be sent once more, and why; waits until then. */
  async waitForRetry(fault: Fault, previous: PreviousAttempt): Promise<PreviousAttempt | undefined> {
    if (!previous.hasNewToken && isTokenStale(fault, this.#authorizedHeaders))
      return { ...previous, hasNewToken: true };
    const { request, deadline } = this.#context;
    if (!request.repeatable || this.hasOutput) return undefined;
    const mayRetry = await waitToRetry(fault, this.#upstream.upstream, previous, deadline);
    return mayRetry ? { ...previous, retries: previous.retries + 1 } : undefined;
  }

  toFailure({ fault }: McpFault, retryAfter: number | undefined): Failure {
    // Whoever looks after upstreams hears of it when it is read, not when it would be due.
    const isSilent = !this.hasOutput && isDisconnected(fault) && !isLocalLimit(fault);
    // One that is known to be away is read when its turn comes.
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
    // A session of era 2025 remembers its level elsewhere: it is asked for only where a log message may come.
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
      const { id, upstream } = this.#upstream;
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

  /** A session has one level, so calls with another have another session. */
  #sessionKey(level: LogLevel | undefined): string {
    const { tenant, principal } = this.#context.requestScope;
    const { id, config } = this.#upstream;
    const { capabilities } = this.#linkConfig.client;
    return canonicalJson([
      tenant,
      principal.id,
      id,
      config,
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
    // What headers repeat is a number of ours, and must be the same in the body.
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

  /** The result as the upstream wrote it, where the client speaks the same era and knows all that may be in it. */
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
    // Servers of era 2025 leave it out where it is empty, which era 2026 does not allow.
    const content = request.method === "tools/call" && value.content === undefined ? { content: [] } : {};
    return { kind: "complete", result: { ...value, ...content } };
  }

  /** The questions of an upstream, with its state sealed to this request: it comes back for whoever asked, and for nobody else. */
  async #sealQuestions(json: string, state: string): Promise<CallOutcome> {
    const { call, requestScope } = this.#context;
    const { id, config } = this.#upstream;
    const sealed = await sealUpstreamState({ ...bindingOf(requestScope), upstream: config }, call, state);
    if (sealed === undefined)
      return failure("faultyServer", `${id}: requestState is longer than 48 KiB`, { server: id, fault: "result" });
    return {
      kind: "complete",
      result: new SerializedResult(withMember(json, "requestState", JSON.stringify(sealed)), true),
    };
  }

  /** At once, and what changed after that when the call has ended: the tenant's authority is not an upstream's to keep busy. */
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

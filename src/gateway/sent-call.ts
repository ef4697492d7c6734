// Owns one request of a call to an upstream: what the upstream says meanwhile goes to the client, and what it asks as well
// where both speak the same era. Refuses to decide whether it is sent at all.

import { ANONYMOUS } from "../auth/principal.ts";
import { canonicalJson } from "../auth/seal.ts";
import type { CallHost } from "../calls/call-host.ts";
import { bindingOf, sealUpstreamState } from "../calls/request-state.ts";
import type { Asking, ResultMessage } from "../mcp-client/ask.ts";
import { isPassing, McpFault, type Fault } from "../mcp-client/fault.ts";
import { paramsOf, type NotificationMessage } from "../mcp-client/message.ts";
import type { Call } from "../protocol/call.ts";
import type { ServerInfo } from "../protocol/definition.ts";
import type { Era } from "../protocol/era.ts";
import { failure, type Failure } from "../protocol/errors.ts";
import type { ParamHeader } from "../protocol/headers.ts";
import type { JsonObject } from "../protocol/jsonrpc.ts";
import { isLogLevel, reaches, type LogLevel } from "../protocol/meta.ts";
import { Encoded, type CallOutcome } from "../protocol/outcome.ts";
import { withMember, withMeta } from "../mcp-client/json-text.ts";
import { remote } from "../tenants/authority/tables.ts";
import { inTime } from "../tenants/isolate/in-time.ts";
import type { TenantDocument, UpstreamDocument } from "../tenants/document/tenant-document.ts";
import { answerThrough, declaredUpstream, servedExtensions } from "./forward-question.ts";
import { foreignResult } from "./foreign-result.ts";
import { callLimits, type Deadline } from "./call-deadline.ts";
import type { AnswerRoom } from "./guard/answer-room.ts";
import type { Redaction } from "./guard/redaction.ts";
import { asPrivate } from "./guard/cache-scope.ts";
import { serviceOf, ungranted, type Services } from "./guard/service-binding.ts";
import { exactArguments } from "./guard/exact-arguments.ts";
import { waitToRetry } from "./guard/retry.ts";
import { gatewayTables } from "./gateway-tables.ts";
import { outboundFetch } from "./outbound-fetch.ts";
import {
  failureOfFault,
  isAnotherServer,
  isDisconnected,
  isOwnBound,
  isSessionUnknown,
  type ErrorGround,
} from "./translate-error.ts";
import type { Way } from "./upstream-catalog.ts";
import {
  configOf,
  credentialIn,
  enabledUpstreams,
  endpointOf,
  isTokenStale,
  type TokenedHeaders,
} from "./upstream-config.ts";
import { askForLogs, LEVEL_WITHIN_MS, openLink, withoutOwnMeta, type LinkHow } from "./upstream-link.ts";
import { timeoutOf } from "./upstream-rules.ts";
import { SessionShare } from "./sessions/session-share.ts";
import { lendLink, type Lent } from "./sessions/upstream-sessions.ts";

/** The key in `_meta` of a result whose session at the upstream began anew during the call: what was kept there is gone. */
const SESSION_KEY = "tenantry/session";

/** An upstream as its calls need it. */
export interface CalledUpstream {
  readonly id: string;
  readonly upstream: UpstreamDocument;
  readonly config: string;
  readonly way: Way;
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

export interface Forwarded {
  readonly method: string;
  /** As the client sent them, with the upstream's own names. */
  readonly params: JsonObject;
  readonly mirrored?: readonly ParamHeader[];
  /** What it asks for may be asked for twice. */
  readonly repeatable: boolean;
  /** What becomes of the result as the upstream wrote it; absent: nothing. */
  readonly named?: (json: string) => string;
}

/** Why a call was sent before: what was refused for its access token has not run, and goes once more with another. */
export interface SentBefore {
  readonly isTokenNew: boolean;
  readonly retries: number;
}

export interface CallWork {
  readonly forwarded: Forwarded;
  readonly call: Call;
  readonly host: CallHost;
  readonly deadline: Deadline;
  readonly room: AnswerRoom;
}

interface SentWork extends CallWork {
  readonly redaction: Redaction;
}

export function groundOf({ id, upstream, way }: CalledUpstream, { call, forwarded }: CallWork): ErrorGround {
  return {
    server: id,
    timeoutMs: timeoutOf(upstream),
    era: call.dialect.era,
    upstreamEra: way === "2026" ? "2026" : "2025",
    ownCapabilities: false,
    method: forwarded.method,
  };
}

export class SentCall {
  readonly #upstream: CalledUpstream;
  readonly #work: SentWork;
  readonly #filled: TokenedHeaders;
  readonly #how: LinkHow;
  /** Whether what the upstream asks can be asked of the client. */
  readonly #asks: boolean;
  #level: Promise<LogLevel | undefined> | undefined;
  /** How often the upstream said in this call that it lists something else. */
  #changes = 0;
  #isAnew = false;
  /** The upstream has said something about this call. */
  heard = false;

  constructor(upstream: CalledUpstream, filled: TokenedHeaders, work: SentWork) {
    const { call, host, room } = work;
    this.#upstream = upstream;
    this.#work = work;
    this.#filled = filled;
    const headers = { ...filled.trace, ...filled.headers };
    const { era } = call.dialect;
    this.#asks = era === this.#era && (era === "2026" || call.questions !== undefined);
    const { name, version } = upstream.server;
    const leave = outboundFetch(host, serviceOf(upstream.upstream, upstream.services, host.env));
    this.#how = {
      endpoint: { ...endpointOf(upstream.upstream, headers, leave, callLimits(this.#era)), held: room.held },
      about: {
        clientInfo: { name, version },
        capabilities: this.#asks ? declaredUpstream(call) : servedExtensions(call),
        ...(call.logLevel === undefined ? {} : { logLevel: call.logLevel }),
      },
      way: upstream.way,
    };
  }

  get #era(): Era {
    return this.#upstream.way === "2026" ? "2026" : "2025";
  }

  async run(): Promise<CallOutcome> {
    const { host, forwarded } = this.#work;
    const lent = await this.#lend();
    try {
      return await this.#askChecked(lent);
    } catch (error) {
      // Waited for: what is called next is not to be lent it again.
      const isLost = error instanceof McpFault && (await lent.lost?.(error.fault));
      if (!isLost || !lent.held) throw error;
      const hasNotRun = !this.heard && isSessionUnknown(error.fault);
      if (!forwarded.repeatable && !hasNotRun) throw error;
      return await this.#askAnew(lent.held.shared?.tag);
    } finally {
      if (this.#changes > 1) this.#markDue();
      if (lent.over) host.waitUntil(lent.over());
    }
  }

  /** Once, in a session that begins anew: the one before was lost. What it held at the upstream is gone, so the result says so. */
  async #askAnew(dead: string | undefined): Promise<CallOutcome> {
    const lent = await this.#lend(dead);
    this.#isAnew = true;
    try {
      return await this.#askChecked(lent);
    } catch (error) {
      if (error instanceof McpFault) await lent.lost?.(error.fault);
      throw error;
    } finally {
      if (lent.over) this.#work.host.waitUntil(lent.over());
    }
  }

  /** The session may have taken as long to begin, or to be refused, as a lease lasts. */
  async #askChecked(lent: Lent): Promise<CallOutcome> {
    const { call, host } = this.#work;
    const withdrawn = await host.recheck(call, (document) => this.#gone(document));
    return withdrawn ?? this.#outcome(await this.#ask(lent));
  }

  /** Whoever removes, moves or switches off an upstream may have done so because it must not hear anything any more. */
  #gone(document: TenantDocument): Failure | undefined {
    const { id, config, upstream } = this.#upstream;
    const now = enabledUpstreams(document).find((one) => one.id === id)?.upstream;
    if (now && configOf(now) === config && ungranted(document, upstream) === undefined) return undefined;
    return failure("unreachableServer", "Failed to connect to server: it is not what it was when this call began", {
      server: id,
      fault: "changed",
    });
  }

  /** Whether it may be sent once more, and why; waits until then. */
  async again(fault: Fault, sent: SentBefore): Promise<SentBefore | undefined> {
    if (!sent.isTokenNew && isTokenStale(fault, this.#filled)) return { ...sent, isTokenNew: true };
    const { forwarded, deadline } = this.#work;
    if (!forwarded.repeatable || this.heard) return undefined;
    const goes = await waitToRetry(fault, this.#upstream.upstream, sent, deadline);
    return goes ? { ...sent, retries: sent.retries + 1 } : undefined;
  }

  failed({ fault }: McpFault, retryAfter: number | undefined): Failure {
    // Whoever looks after upstreams hears of it when it is read, not when it would be due.
    const isSilent = !this.heard && isDisconnected(fault) && !isOwnBound(fault);
    // One that is known to be away is read when its turn comes.
    const isKnown = this.#upstream.isFailing && isPassing(fault);
    if ((isSilent || isAnotherServer(fault)) && !isKnown) this.#readSoon();
    const ground = { ...groundOf(this.#upstream, this.#work), ownCapabilities: this.#asks, retryAfter };
    return this.#work.redaction.value(failureOfFault(fault, ground));
  }

  async #lend(dead?: string): Promise<Lent> {
    // A session of era 2025 remembers its level elsewhere: it is asked for only where a log message may come.
    const level = this.#upstream.logging ? await this.#logLevel() : undefined;
    const how = level === undefined ? this.#how : { ...this.#how, about: { ...this.#how.about, logLevel: level } };
    const { host, deadline } = this.#work;
    const { signal } = deadline;
    const later = (work: Promise<unknown>) => host.waitUntil(work);
    if (this.#upstream.way === "2025") {
      const { tenant, principal } = host;
      const isAnonymous = principal.id === ANONYMOUS.id;
      const owner = { tenant, principal: principal.id };
      const key = this.#sessionKey(level);
      const { id, upstream } = this.#upstream;
      const share = () => new SessionShare({ host, id, upstream, key, filled: this.#filled });
      const callMs = timeoutOf(upstream);
      return lendLink({ key, owner, how, level, isAnonymous, signal, later, callMs, share, dead });
    }
    const link = await openLink(how, { signal });
    if (level !== undefined && link.way === "http-sse") {
      await askForLogs(link, level, { clock: how.endpoint.clock, signal, later });
    }
    return link.way === "2026" ? { link } : { link, over: async () => link.close() };
  }

  /** A session has one level, so calls with another have another session. */
  #sessionKey(level: LogLevel | undefined): string {
    const { tenant, principal } = this.#work.host;
    const { id, config } = this.#upstream;
    const { capabilities } = this.#how.about;
    return canonicalJson([tenant, principal.id, id, config, credentialIn(this.#filled), capabilities, level ?? null]);
  }

  #ask({ link, asked }: Lent): Promise<ResultMessage> {
    const { call, host, forwarded, deadline } = this.#work;
    const { method, mirrored } = forwarded;
    const params = this.#era === "2025" ? withoutOwnMeta(forwarded.params) : forwarded.params;
    const asking: Asking = {
      signal: deadline.signal,
      notified: (message) => this.#notified(message),
      ...(this.#asks &&
        this.#era === "2025" &&
        call.questions && { answer: answerThrough(call.questions, this.#work, asked) }),
    };
    const progress = call.progressToken !== undefined;
    // What headers repeat is a number of ours, and must be the same in the body.
    const isMirrored = mirrored !== undefined && mirrored.length > 0;
    const exact = isMirrored ? undefined : exactArguments(host.sentText, params.arguments);
    return link.ask({ method, params, exact, progress, ...(mirrored && { mirrored }) }, asking);
  }

  async #notified(message: NotificationMessage): Promise<void> {
    this.heard = true;
    const { call, redaction } = this.#work;
    const params = redaction.value(paramsOf(message));
    if (message.method === "notifications/progress" && call.progressToken !== undefined) {
      call.sink.notify(message.method, { ...params, progressToken: call.progressToken });
    } else if (message.method === "notifications/message" && isLogLevel(params.level)) {
      const minimum = await this.#logLevel();
      if (minimum !== undefined && reaches(params.level, minimum)) call.sink.notify(message.method, params);
    } else if (/^notifications\/(tools|prompts|resources)\/list_changed$/.test(message.method)) this.#readSoon();
  }

  #logLevel(): Promise<LogLevel | undefined> {
    const { logLevel, session } = this.#work.call;
    this.#level ??=
      logLevel === undefined && session
        ? // Without a level the server sends its own; the call matters more.
          inTime(session.logLevel(), LEVEL_WITHIN_MS).catch(() => undefined)
        : Promise.resolve(logLevel);
    return this.#level;
  }

  /** The result as the upstream wrote it, where the client speaks the same era and knows all that may be in it. */
  async #outcome({ result: own }: ResultMessage): Promise<CallOutcome> {
    const { call, forwarded, host, redaction } = this.#work;
    const { dialect } = call;
    const said = redaction.json(forwarded.named?.(own) ?? own);
    const shared = host.sight.cacheScope === "public" ? said : asPrivate(said);
    const read = this.#era === "2026" ? foreignResult(shared, { call, server: this.#upstream.id }) : { json: shared };
    if ("kind" in read) return read;
    if (read.state !== undefined) return this.#asking(read.json, read.state);
    const result = this.#isAnew ? withMeta(read.json, SESSION_KEY, "new") : read.json;
    const isSame = dialect.era === this.#era && (dialect.era === "2026" || this.#upstream.revision <= dialect.revision);
    if (isSame) return { kind: "complete", result: new Encoded(result, true) };
    const value = JSON.parse(result) as JsonObject;
    // Servers of era 2025 leave it out where it is empty, which era 2026 does not allow.
    const content = forwarded.method === "tools/call" && value.content === undefined ? { content: [] } : {};
    return { kind: "complete", result: { ...value, ...content } };
  }

  /** The questions of an upstream, with its state sealed to this request: it comes back for whoever asked, and for nobody else. */
  async #asking(json: string, state: string): Promise<CallOutcome> {
    const { call, host } = this.#work;
    const { id, config } = this.#upstream;
    const sealed = await sealUpstreamState({ ...bindingOf(host), upstream: config }, call, state);
    if (sealed === undefined)
      return failure("faultyServer", `${id}: requestState is longer than 48 KiB`, { server: id, fault: "result" });
    return { kind: "complete", result: new Encoded(withMember(json, "requestState", JSON.stringify(sealed)), true) };
  }

  /** At once, and what changed after that when the call has ended: the tenant's authority is not an upstream's to keep busy. */
  #readSoon(): void {
    this.#changes += 1;
    if (this.#changes === 1) this.#markDue();
  }

  #markDue(): void {
    const { host } = this.#work;
    const marked = remote(host.stub(), gatewayTables).soon(this.#upstream.id);
    host.waitUntil(
      marked.then(
        (at) => host.tendBy(at),
        () => undefined,
      ),
    );
  }
}

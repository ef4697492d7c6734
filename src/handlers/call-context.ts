// The `ctx` of one call. Members are created when first used, so that a tool that only computes pays for none of them.

import type { Principal } from "../auth/principal.ts";
import type { McpRequest } from "../protocol/mcp-request.ts";
import { isObject, type JsonObject } from "../protocol/jsonrpc.ts";
import { outboundAllowOf, GuardedFetch, type OutboundInit, type OutboundVars } from "../outbound/guarded-fetch.ts";
import { createResolver } from "../outbound/dns-resolver.ts";
import { SECRET_NAME_RULE, secretNameOf, workerSecretOf } from "../tenants/document/secret-name.ts";
import {
  parseClientInfo,
  customMeta,
  LOG_LEVELS,
  META,
  isAtLeast,
  type ClientCapability,
  type ClientInfo,
  type LogLevel,
} from "../protocol/meta.ts";
import { assertKnownKeys, omitUndefined, typeRule } from "../protocol/members.ts";
import { publishChanges, type Announcement } from "./publish-changes.ts";
import type { RequestScope, Identity, LinkOptions } from "./request-scope.ts";
import type { ResourceLinkBlock } from "./content-block.ts";
import type { Question } from "./question.ts";
import type { Context, Root } from "./context.ts";
import { parseAcceptedContent, type ElicitAnswer, type ElicitOptions } from "./elicitation.ts";
import { eventOf } from "./error-outcome.ts";
import type { Elicitor } from "./elicitor.ts";
import type { Bytes } from "./read-bytes.ts";
import type { ClientProgress, SampleOptions } from "./sampling.ts";
import { compileSchema, type CompiledSchema } from "./schema.ts";
import type { ResourceStore } from "./resource-store.ts";

interface LogEntry {
  readonly level: LogLevel;
  readonly params: JsonObject;
}

export class CallContext implements Omit<Context<unknown, unknown>, "elicit" | "sample"> {
  readonly #call: McpRequest;
  readonly #requestScope: RequestScope;
  readonly #elicitor: Elicitor;
  readonly #name: string;
  #resourceStore: ResourceStore | undefined;
  #guardedFetch: GuardedFetch | undefined;
  #request: Context["request"] | undefined;
  #abort: AbortController | undefined;
  #abortReason: unknown;
  #progress = Number.NEGATIVE_INFINITY;
  #sessionLevel: LogLevel | undefined | null = null;
  #loadingLevel: Promise<void> | undefined;
  readonly #queuedLogs: LogEntry[] = [];
  /** Names of the `once` work that runs now. */
  readonly #runningOnce = new Set<string>();
  #isClosed = false;
  /** Number of promises given to `waitUntil` that have not settled. */
  #pendingWork = 0;

  constructor(call: McpRequest, requestScope: RequestScope, elicitor: Elicitor, name: string) {
    this.#call = call;
    this.#requestScope = requestScope;
    this.#elicitor = elicitor;
    this.#name = name;
  }

  get tenant(): { readonly id: string; readonly profile: string | null } {
    return { id: this.#requestScope.tenant, profile: this.#requestScope.profile };
  }

  get principal(): Principal {
    return this.#requestScope.principal;
  }

  get identity(): Identity {
    const { identity } = this.#requestScope;
    if (!identity) throw new TypeError("ctx.identity needs login() in the features of createWorker");
    return identity;
  }

  get config(): unknown {
    return this.#requestScope.access.configOf(this.#name);
  }

  get settings(): unknown {
    return this.#requestScope.access.settings();
  }

  get env(): unknown {
    return this.#requestScope.env;
  }

  async secret(name: string): Promise<string> {
    const secret = secretNameOf(name);
    if (secret === undefined) throw new TypeError(`"${name}" is not a secret name: it must be ${SECRET_NAME_RULE}`);
    const { env, tenant } = this.#requestScope;
    const value = (await this.#requestScope.secret(secret)) ?? workerSecretOf(env, tenant, secret);
    if (value === undefined)
      throw new Error(`no secret "${secret}" is set for this tenant: npx tenantry secret set ${tenant} ${secret}`);
    return value;
  }

  get resources(): ResourceStore {
    return (this.#resourceStore ??= this.#requestScope.resources());
  }

  fetch(input: RequestInfo | URL, init?: OutboundInit): Promise<Response> {
    this.#guardedFetch ??= this.#createGuardedFetch();
    const ownSignal = init?.signal ?? (input instanceof Request ? input.signal : undefined);
    if (!ownSignal) return this.#guardedFetch.fetch(input, init);
    return this.#guardedFetch.fetch(input, { ...init, signal: AbortSignal.any([ownSignal, this.signal]) });
  }

  #createGuardedFetch(): GuardedFetch {
    const { env, tenant, hops } = this.#requestScope;
    const { OUTBOUND_RESOLVER } = env as OutboundVars;
    const allow = outboundAllowOf(env);
    const resolve = createResolver(OUTBOUND_RESOLVER);
    const headers = this.#requestScope.trace?.(this.#call.params._meta);
    return new GuardedFetch({
      tenant,
      hops,
      headers,
      signal: () => this.signal,
      allow,
      resolve,
      fetch: this.#requestScope.fetch,
    });
  }

  async link(body: string | Bytes, options: LinkOptions): Promise<ResourceLinkBlock> {
    const { results } = this.#requestScope;
    if (!results) throw new TypeError("ctx.link needs links() or gateway() in the features of createWorker");
    return results.link(body, options, {
      call: this.#call,
      requestScope: this.#requestScope,
      name: this.#name,
      signal: () => this.signal,
    });
  }

  /** For the server: marks the handler as ended. Work in `waitUntil` can still fetch until it settles. */
  close(): void {
    this.#isClosed = true;
    if (this.#pendingWork === 0) this.#guardedFetch?.close();
  }

  get signal(): AbortSignal {
    if (!this.#abort) {
      this.#abort = new AbortController();
      if (this.#abortReason !== undefined) this.#abort.abort(this.#abortReason);
    }
    return this.#abort.signal;
  }

  /** For the server: aborts `signal`. */
  abort(reason: unknown): void {
    this.#abortReason ??= reason;
    this.#abort?.abort(reason);
  }

  get request(): Context["request"] {
    return (this.#request ??= { headers: visibleHeaders(this.#requestScope.headers) });
  }

  get client(): ClientInfo | undefined {
    const { params, session } = this.#call;
    const { _meta } = params;
    return session ? session.client : parseClientInfo(isObject(_meta) ? _meta[META.clientInfo] : undefined);
  }

  get meta(): JsonObject {
    return customMeta(this.#call.params);
  }

  get requestId(): string {
    return this.#requestScope.requestId;
  }

  waitUntil(work: Promise<unknown>): void {
    this.#pendingWork += 1;
    const settled = Promise.resolve(work)
      .catch((error: unknown) => {
        this.#reportError(error);
      })
      .then(() => {
        this.#pendingWork -= 1;
        if (this.#isClosed) this.close();
      });
    this.#requestScope.waitUntil(settled);
  }

  progress(progress: number, total?: number, message?: string): void {
    const { progressToken } = this.#call;
    if (progressToken === undefined || !(progress > this.#progress)) return;
    this.#progress = progress;
    this.#call.sink.notify("notifications/progress", omitUndefined({ progressToken, progress, total, message }));
  }

  log(level: LogLevel, data: unknown, logger?: string): void {
    if (!LOG_LEVELS.includes(level))
      throw new TypeError(`ctx.log: level must be one of ${LOG_LEVELS.join(", ")}, not ${level}`);
    const entry = { level, params: omitUndefined({ level, logger, data }) };
    if (this.#call.revision.logging === "request") this.#sendLog(entry, this.#call.logLevel);
    else if (this.#call.session) this.#logInSession(entry, this.#call.session);
  }

  #logInSession(entry: LogEntry, session: NonNullable<McpRequest["session"]>): void {
    if (this.#sessionLevel !== null) {
      this.#sendLog(entry, this.#sessionLevel);
      return;
    }
    this.#queuedLogs.push(entry);
    // If the level cannot be read, no log is sent: the call must not lose its result for that.
    const readLevel = () => session.logLevel().catch(() => undefined);
    this.#loadingLevel ??= readLevel().then((level) => {
      this.#sessionLevel = level;
      for (const queued of this.#queuedLogs.splice(0)) this.#sendLog(queued, level);
    });
  }

  #sendLog(entry: LogEntry, minimum: LogLevel | undefined): void {
    if (minimum === undefined || !isAtLeast(entry.level, minimum)) return;
    this.#call.sink.notify("notifications/message", entry.params);
  }

  /** For the server: settles when every log entry was sent or dropped. undefined when no entry waits. */
  get pendingLogs(): Promise<void> | undefined {
    return this.#queuedLogs.length === 0 ? undefined : this.#loadingLevel;
  }

  async announce(changed: Announcement): Promise<void> {
    await publishChanges(this.#requestScope.contentStub(), changed);
  }

  can(capability: ClientCapability): boolean {
    return this.#elicitor.can(capability);
  }

  async elicit(name: string, options: ElicitOptions): Promise<ElicitAnswer> {
    assertName(name);
    assertElicitOptions(name, options);
    const { message } = options;
    if ("url" in options) return this.#sendElicitation(name, { mode: "url", message, url: options.url });
    const schema = compileSchema(options.schema);
    const answer = await this.#sendElicitation(name, { message, requestedSchema: formSchema(schema) });
    return answer.action === "accept"
      ? { ...answer, content: await parseAcceptedContent(name, schema, answer.content) }
      : answer;
  }

  async #sendElicitation(name: string, params: JsonObject): Promise<ElicitAnswer> {
    return (await this.#askOne(name, { method: "elicitation/create", params })) as unknown as ElicitAnswer;
  }

  sample(name: string, params: JsonObject, { onProgress }: SampleOptions = {}): Promise<JsonObject> {
    return this.#askOne(name, { method: "sampling/createMessage", params }, onProgress);
  }

  async roots(name = "roots"): Promise<readonly Root[]> {
    const { roots } = await this.#askOne(name, { method: "roots/list" });
    return roots as Root[];
  }

  ask(questions: Readonly<Record<string, Question>>): Promise<Record<string, JsonObject>> {
    return this.#ask(questions);
  }

  /** Inside `once`, a question would end the run of era 2026 with the work begun and its outcome unknown. */
  async #ask(...[questions, onProgress]: Parameters<Elicitor["ask"]>): Promise<Record<string, JsonObject>> {
    const [running] = this.#runningOnce;
    if (running === undefined) return this.#elicitor.ask(questions, onProgress);
    const names = Object.keys(questions).join(", ");
    throw new TypeError(
      `"${names}" must not be asked while ctx.once "${running}" runs: ask before ctx.once and await the answer`,
    );
  }

  async #askOne(name: string, question: Question, onProgress?: SampleOptions["onProgress"]): Promise<JsonObject> {
    assertName(name);
    const listener = onProgress && ((progress: JsonObject) => this.#callProgressListener(onProgress, progress));
    const answers = await this.#ask({ [name]: question }, listener);
    return answers[name] as JsonObject;
  }

  /** An exception in the listener goes to the author's `onError`; the call continues. */
  #callProgressListener(listener: NonNullable<SampleOptions["onProgress"]>, progress: JsonObject): void {
    try {
      listener(progress as unknown as ClientProgress);
    } catch (error) {
      this.#reportError(error);
    }
  }

  /** Reports the error to operators only; the call continues. */
  #reportError(error: unknown): void {
    const requestScope = this.#requestScope;
    requestScope.hooks.onError?.(error, eventOf({ name: this.#name, call: this.#call, requestScope }));
  }

  async memo<T>(name: string, make: () => T | Promise<T>): Promise<T> {
    return (await this.#elicitor.memo(name, make)) as T;
  }

  async once<T>(name: string, act: () => T | Promise<T>): Promise<T> {
    const work = async () => {
      this.#runningOnce.add(name);
      try {
        return await act();
      } finally {
        this.#runningOnce.delete(name);
      }
    };
    return (await this.#elicitor.once(name, work)) as T;
  }
}

/** The name is required: without it the answer cannot be found again. */
function assertName(name: unknown): void {
  if (typeof name !== "string") throw new TypeError("the first argument of a question must be its name, a string");
}

/** Repeats at run time what the types of the options say. */
function assertElicitOptions(name: string, options: unknown): void {
  const what = `ctx.elicit "${name}"`;
  assertKnownKeys(what, options, "message schema url");
  const { message, schema, url } = options as JsonObject;
  if (typeof message !== "string") throw new TypeError(`${what}: message ${typeRule("a string", message)}`);
  if (url === undefined && schema === undefined) throw new TypeError(`${what}: needs schema for a form, or url`);
}

/** Headers that carry credentials, and headers that this hop sets. */
const HIDDEN_HEADERS =
  /^(?:last-event-id|(?:mcp|tenantry|cf-access)-.*)$|auth|cookie|secret|token|session|passw|credential|jwt|api.?key/;

function visibleHeaders(headers: Headers): Headers {
  return new Headers([...headers].filter(([name]) => !HIDDEN_HEADERS.test(name)));
}

/** The schema without the members that only validators read, as the protocol requires for forms. */
function formSchema({ json }: CompiledSchema): JsonObject {
  const { $schema: _draft, additionalProperties: _closed, ...form } = json;
  return form;
}

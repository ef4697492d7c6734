// Owns what a handler is given as `ctx`, and what the server does with it. Members are made when first used, so that a
// tool that only computes pays for none of them.

import type { Principal } from "../auth/principal.ts";
import type { Call } from "../protocol/call.ts";
import { isObject, type JsonObject } from "../protocol/jsonrpc.ts";
import { allowedBy, OutboundDoor, type OutboundInit, type OutboundVars } from "../outbound/outbound-door.ts";
import { resolverAt } from "../outbound/resolve.ts";
import { SECRET_NAME_RULE, secretNameOf, workerSecretOf } from "../tenants/document/secret-name.ts";
import {
  clientOf,
  furtherMeta,
  LOG_LEVELS,
  META,
  reaches,
  type ClientCapability,
  type ClientInfo,
  type LogLevel,
} from "../protocol/meta.ts";
import { given } from "../protocol/members.ts";
import { announceTo, type Announcement } from "./announce.ts";
import type { CallHost, Identity, LinkOptions } from "./call-host.ts";
import type { ResourceLinkBlock } from "./content-block.ts";
import type { Question } from "./answers.ts";
import type { UntypedContext, Root } from "./context.ts";
import { accepted, type ElicitAnswer, type ElicitOptions } from "./eliciting.ts";
import { eventOf } from "./fault.ts";
import type { Interview } from "./interview.ts";
import type { Bytes } from "./read-bytes.ts";
import type { ClientProgress, SampleOptions } from "./sampling.ts";
import { compileSchema, type CompiledSchema } from "./schema.ts";
import type { ResourceStore } from "./resource-store.ts";

interface LogEntry {
  readonly level: LogLevel;
  readonly params: JsonObject;
}

export class CallContext implements UntypedContext {
  readonly #call: Call;
  readonly #host: CallHost;
  readonly #interview: Interview;
  readonly #name: string;
  #store: ResourceStore | undefined;
  #door: OutboundDoor | undefined;
  #request: UntypedContext["request"] | undefined;
  #abort: AbortController | undefined;
  #abortReason: unknown;
  #progress = Number.NEGATIVE_INFINITY;
  #sessionLevel: LogLevel | undefined | null = null;
  #asking: Promise<void> | undefined;
  readonly #waiting: LogEntry[] = [];
  #isOver = false;
  /** How much of what was given to `waitUntil` goes on. */
  #left = 0;

  constructor(call: Call, host: CallHost, interview: Interview, name: string) {
    this.#call = call;
    this.#host = host;
    this.#interview = interview;
    this.#name = name;
  }

  get tenant(): { readonly id: string; readonly profile: string | null } {
    return { id: this.#host.tenant, profile: this.#host.profile };
  }

  get principal(): Principal {
    return this.#host.principal;
  }

  get identity(): Identity {
    const { identity } = this.#host;
    if (!identity) throw new TypeError("ctx.identity needs login()");
    return identity;
  }

  get config(): unknown {
    return this.#host.sight.configOf(this.#name);
  }

  get settings(): unknown {
    return this.#host.sight.settings();
  }

  get env(): unknown {
    return this.#host.env;
  }

  async secret(name: string): Promise<string> {
    const secret = secretNameOf(name);
    if (secret === undefined) throw new TypeError(`"${name}" is no name of a secret: ${SECRET_NAME_RULE}`);
    const { env, tenant } = this.#host;
    const value = (await this.#host.secret(secret)) ?? workerSecretOf(env, tenant, secret);
    if (value === undefined) throw new Error(`no secret "${name}" is set for this tenant`);
    return value;
  }

  get resources(): ResourceStore {
    return (this.#store ??= this.#host.resources());
  }

  fetch(input: RequestInfo | URL, init?: OutboundInit): Promise<Response> {
    this.#door ??= this.#openDoor();
    const own = init?.signal ?? (input instanceof Request ? input.signal : undefined);
    if (!own) return this.#door.fetch(input, init);
    return this.#door.fetch(input, { ...init, signal: AbortSignal.any([own, this.signal]) });
  }

  #openDoor(): OutboundDoor {
    const { env, tenant, hops } = this.#host;
    const { OUTBOUND_RESOLVER } = env as OutboundVars;
    const allow = allowedBy(env);
    const resolve = resolverAt(OUTBOUND_RESOLVER);
    const headers = this.#host.trace?.(this.#call.params._meta);
    return new OutboundDoor({
      tenant,
      hops,
      headers,
      signal: () => this.signal,
      allow,
      resolve,
      fetch: this.#host.fetch,
    });
  }

  async link(body: string | Bytes, options: LinkOptions): Promise<ResourceLinkBlock> {
    const { results } = this.#host;
    if (!results) throw new TypeError("ctx.link needs links() or gateway()");
    return results.link(body, options, {
      call: this.#call,
      host: this.#host,
      name: this.#name,
      signal: () => this.signal,
    });
  }

  /** For the server: the handler has ended. What it left to `waitUntil` may still ask others. */
  close(): void {
    this.#isOver = true;
    if (this.#left === 0) this.#door?.close();
  }

  get signal(): AbortSignal {
    if (!this.#abort) {
      this.#abort = new AbortController();
      if (this.#abortReason !== undefined) this.#abort.abort(this.#abortReason);
    }
    return this.#abort.signal;
  }

  /** For the server: ends `signal`. */
  abort(reason: unknown): void {
    this.#abortReason ??= reason;
    this.#abort?.abort(reason);
  }

  get request(): UntypedContext["request"] {
    return (this.#request ??= { headers: shownHeaders(this.#host.headers) });
  }

  get client(): ClientInfo | undefined {
    const { params, session } = this.#call;
    const { _meta } = params;
    return session ? session.client : clientOf(isObject(_meta) ? _meta[META.clientInfo] : undefined);
  }

  get meta(): JsonObject {
    return furtherMeta(this.#call.params);
  }

  get requestId(): string {
    return this.#host.requestId;
  }

  waitUntil(work: Promise<unknown>): void {
    this.#left += 1;
    const settled = Promise.resolve(work)
      .catch((error: unknown) => {
        this.#heard(error);
      })
      .then(() => {
        this.#left -= 1;
        if (this.#isOver) this.close();
      });
    this.#host.waitUntil(settled);
  }

  progress(progress: number, total?: number, message?: string): void {
    const { progressToken } = this.#call;
    if (progressToken === undefined || !(progress > this.#progress)) return;
    this.#progress = progress;
    this.#call.sink.notify("notifications/progress", given({ progressToken, progress, total, message }));
  }

  log(level: LogLevel, data: unknown, logger?: string): void {
    if (!LOG_LEVELS.includes(level))
      throw new TypeError(`ctx.log: ${level} is no level, only ${LOG_LEVELS.join(", ")}`);
    const entry = { level, params: given({ level, logger, data }) };
    if (this.#call.dialect.logging === "request") this.#send(entry, this.#call.logLevel);
    else if (this.#call.session) this.#logInSession(entry, this.#call.session);
  }

  #logInSession(entry: LogEntry, session: NonNullable<Call["session"]>): void {
    if (this.#sessionLevel !== null) {
      this.#send(entry, this.#sessionLevel);
      return;
    }
    this.#waiting.push(entry);
    // Where the level cannot be read, nothing is sent: the call must not lose its result for that.
    const known = () => session.logLevel().catch(() => undefined);
    this.#asking ??= known().then((level) => {
      this.#sessionLevel = level;
      for (const waiting of this.#waiting.splice(0)) this.#send(waiting, level);
    });
  }

  #send(entry: LogEntry, minimum: LogLevel | undefined): void {
    if (minimum === undefined || !reaches(entry.level, minimum)) return;
    this.#call.sink.notify("notifications/message", entry.params);
  }

  /** For the server: settles when every log entry was sent or dropped; undefined when none waits. */
  get unsent(): Promise<void> | undefined {
    return this.#waiting.length === 0 ? undefined : this.#asking;
  }

  async announce(changed: Announcement): Promise<void> {
    await announceTo(this.#host.contentStub(), changed);
  }

  can(capability: ClientCapability): boolean {
    return this.#interview.can(capability);
  }

  async elicit(name: string, options: ElicitOptions): Promise<ElicitAnswer> {
    checkName(name);
    const { message } = options;
    if ("url" in options) return this.#elicited(name, { mode: "url", message, url: options.url });
    const schema = compileSchema(options.schema);
    const answer = await this.#elicited(name, { message, requestedSchema: formSchema(schema) });
    return answer.action === "accept" ? { ...answer, content: await accepted(name, schema, answer.content) } : answer;
  }

  async #elicited(name: string, params: JsonObject): Promise<ElicitAnswer> {
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
    return this.#interview.ask(questions);
  }

  async #askOne(name: string, question: Question, onProgress?: SampleOptions["onProgress"]): Promise<JsonObject> {
    checkName(name);
    const heard = onProgress && ((progress: JsonObject) => this.#tell(onProgress, progress));
    const answers = await this.#interview.ask({ [name]: question }, heard);
    return answers[name] as JsonObject;
  }

  /** An exception in the listener goes to the author's `onError`; the call goes on. */
  #tell(listener: NonNullable<SampleOptions["onProgress"]>, progress: JsonObject): void {
    try {
      listener(progress as unknown as ClientProgress);
    } catch (error) {
      this.#heard(error);
    }
  }

  /** For operators alone: the call goes on. */
  #heard(error: unknown): void {
    const host = this.#host;
    host.hooks.onError?.(error, eventOf({ name: this.#name, call: this.#call, host }));
  }

  async memo<T>(name: string, make: () => T | Promise<T>): Promise<T> {
    return (await this.#interview.memo(name, make)) as T;
  }

  async once<T>(name: string, act: () => T | Promise<T>): Promise<T> {
    return (await this.#interview.once(name, act)) as T;
  }
}

/** Without one its answer could not be found again. */
function checkName(name: unknown): void {
  if (typeof name !== "string") throw new TypeError("a question's name comes first, a string");
}

/** What shows who calls, and what this hop says of itself. */
const NEVER_SHOWN =
  /^(?:last-event-id|(?:mcp|tenantry|cf-access)-.*)$|auth|cookie|secret|token|session|passw|credential|jwt|api.?key/;

function shownHeaders(headers: Headers): Headers {
  return new Headers([...headers].filter(([name]) => !NEVER_SHOWN.test(name)));
}

/** The form as the protocol wants it: without the members that only validators read. */
function formSchema({ json }: CompiledSchema): JsonObject {
  const { $schema: _dialect, additionalProperties: _closed, ...form } = json;
  return form;
}

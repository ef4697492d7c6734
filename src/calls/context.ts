// Owns `ctx`: everything a handler may use. What it does not offer, a tool cannot reach.
// Members are made when first used, so that a tool that only computes pays for none of them.

import type { Principal } from "../auth/principal.ts";
import type { Call } from "../protocol/call.ts";
import type { JsonObject } from "../protocol/jsonrpc.ts";
import { OutboundDoor, type OutboundInit, type OutboundVars } from "../outbound/outbound-door.ts";
import { resolverAt } from "../outbound/resolve.ts";
import { secretNameOf, workerSecretOf } from "../tenants/document/secret-name.ts";
import { LOG_LEVELS, reaches, type ClientCapability, type LogLevel } from "../protocol/meta.ts";
import { given } from "../protocol/members.ts";
import { parseUri } from "../protocol/uri.ts";
import { remoteChanges } from "../tenants/authority/change-tables.ts";
import type { CallHost, Identity } from "./call-host.ts";
import type { Question } from "./answers.ts";
import type { Interview } from "./interview.ts";
import { compileSchema, type AnySchema } from "./schema.ts";
import type { ResourceStore } from "./resource-store.ts";

export type ElicitOptions =
  | {
      readonly message: string;
      /** zod or JSON Schema: a flat object of primitive members. */
      readonly schema: AnySchema;
    }
  | { readonly message: string; readonly url: string };

export type ElicitAnswer =
  | { readonly action: "accept"; readonly content: Record<string, unknown> }
  | { readonly action: "decline" | "cancel" };

/** How far a client is with a question. */
export interface ClientProgress {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

export interface SampleOptions {
  readonly onProgress?: (progress: ClientProgress) => void;
}

export interface Root {
  readonly uri: string;
  readonly name?: string;
}

/** What changed: lists as a whole, and in `updated` the URIs of resources whose content did. */
export interface Announcement {
  readonly tools?: boolean;
  readonly prompts?: boolean;
  readonly resources?: boolean;
  readonly updated?: readonly string[];
}

interface LogEntry {
  readonly level: LogLevel;
  readonly params: JsonObject;
}

export class Context {
  readonly #call: Call;
  readonly #host: CallHost;
  readonly #interview: Interview;
  readonly #name: string;
  #store: ResourceStore | undefined;
  #door: OutboundDoor | undefined;
  #abort: AbortController | undefined;
  #abortReason: unknown;
  #progress = Number.NEGATIVE_INFINITY;
  #sessionLevel: LogLevel | undefined | null = null;
  #asking: Promise<void> | undefined;
  readonly #waiting: LogEntry[] = [];

  /** For the server, which makes one for each call. */
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

  /** The person who calls, towards the tenant's own API. Throws in a Worker without the feature `login()`. */
  get identity(): Identity {
    const { identity } = this.#host;
    if (!identity) throw new TypeError("ctx.identity needs login()");
    return identity;
  }

  /** This tenant's configuration of this tool, frozen: other calls read the same. undefined where there is none. */
  get config(): unknown {
    return this.#host.sight.configOf(this.#name);
  }

  /** The Worker's bindings. */
  get env(): unknown {
    return this.#host.env;
  }

  /**
   * The tenant's own secret of this name, else the Worker's named `TENANT__NAME` in upper case; never another tenant's.
   * Throws where there is none. Ask for it where it is used, so that one that was replaced or deleted is not used.
   */
  async secret(name: string): Promise<string> {
    const secret = secretNameOf(name);
    if (secret === undefined) throw new TypeError(`"${name}" is no name of a secret`);
    const { env, tenant } = this.#host;
    const value = (await this.#host.secret(secret)) ?? workerSecretOf(env, tenant, secret);
    if (value === undefined) throw new Error(`no secret "${name}" is set for this tenant`);
    return value;
  }

  /** The tenant's stored resources, as far as the caller sees them. */
  get resources(): ResourceStore {
    return (this.#store ??= this.#host.resources());
  }

  /**
   * As the global `fetch`, ended by `signal` unless `init` has a signal of its own, for URLs that may come from anybody:
   * https to public addresses, looked at again at every redirect. Rejects with an OutboundError for what is refused.
   */
  fetch(input: RequestInfo | URL, init?: OutboundInit): Promise<Response> {
    this.#door ??= this.#openDoor();
    return this.#door.fetch(input, init);
  }

  #openDoor(): OutboundDoor {
    const { env, tenant, hops } = this.#host;
    const { OUTBOUND_ALLOW = "", OUTBOUND_LOCAL = "", OUTBOUND_RESOLVER } = env as OutboundVars;
    const allow = `${OUTBOUND_ALLOW},${OUTBOUND_LOCAL}`;
    return new OutboundDoor({ tenant, hops, signal: () => this.signal, allow, resolve: resolverAt(OUTBOUND_RESOLVER) });
  }

  /** For the server: the handler has ended. */
  close(): void {
    this.#door?.close();
  }

  /** Aborts when the call is cancelled, when its time is over, and when this run of it ends at a question. */
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

  /** Sent only to a client that asked for progress; a value that does not grow is dropped. */
  progress(progress: number, total?: number, message?: string): void {
    const { progressToken } = this.#call;
    if (progressToken === undefined || !(progress > this.#progress)) return;
    this.#progress = progress;
    this.#call.sink.notify("notifications/progress", given({ progressToken, progress, total, message }));
  }

  /** Sent only to a client that asked for this level; `data` is any JSON. */
  log(level: LogLevel, data: unknown, logger?: string): void {
    if (!LOG_LEVELS.includes(level)) throw new TypeError(`no log level ${level}`);
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

  /**
   * Tells whoever listens that a list changed, or the content of resources. Changes of what is stored are told without
   * it; this is for lists and resources in code that depend on something else. Throws a TypeError for what is no URI.
   */
  async announce(changed: Announcement): Promise<void> {
    const sections = (["tools", "prompts", "resources"] as const).filter((section) => changed[section]);
    const uris = (changed.updated ?? []).map((uri) => {
      const parsed = parseUri(uri);
      if ("broken" in parsed) throw new TypeError(`${uri.slice(0, 100)}: ${parsed.broken}`);
      return parsed.uri;
    });
    await remoteChanges(this.#host.contentStub()).announce(sections, uris);
  }

  /** Whether this client can be asked. */
  can(capability: ClientCapability): boolean {
    return this.#interview.can(capability);
  }

  /**
   * Asks the person with a form or a URL. The name must be unique within the call: it finds the answer when the handler
   * runs again. Throws where the client cannot be asked.
   */
  async elicit(name: string, options: ElicitOptions): Promise<ElicitAnswer> {
    const { message } = options;
    const params =
      "url" in options
        ? { mode: "url", message, url: options.url }
        : { message, requestedSchema: formSchema(options.schema) };
    return (await this.#askOne(name, { method: "elicitation/create", params })) as unknown as ElicitAnswer;
  }

  /** Asks the client's model; `params` as in sampling/createMessage. Only in era 2025 can a client report progress. */
  sample(name: string, params: JsonObject, { onProgress }: SampleOptions = {}): Promise<JsonObject> {
    return this.#askOne(name, { method: "sampling/createMessage", params }, onProgress);
  }

  /** Asks for the folders that the client works in. */
  async roots(name = "roots"): Promise<readonly Root[]> {
    const { roots } = await this.#askOne(name, { method: "roots/list" });
    return roots as Root[];
  }

  /** Asks several questions at once, in wire form and by name; gives all the answers. */
  ask(questions: Readonly<Record<string, Question>>): Promise<Record<string, JsonObject>> {
    return this.#interview.ask(questions);
  }

  async #askOne(name: string, question: Question, onProgress?: SampleOptions["onProgress"]): Promise<JsonObject> {
    const heard = onProgress && ((progress: JsonObject) => this.#tell(onProgress, progress));
    const answers = await this.#interview.ask({ [name]: question }, heard);
    return answers[name] as JsonObject;
  }

  /** An exception in the listener goes to the author's `onError`; the call goes on. */
  #tell(listener: NonNullable<SampleOptions["onProgress"]>, progress: JsonObject): void {
    try {
      listener(progress as unknown as ClientProgress);
    } catch (error) {
      this.#host.hooks.onError?.(error, undefined);
    }
  }

  /** Work whose result, as JSON, is kept for when the handler runs again after a question; done at least once. */
  async memo<T>(name: string, make: () => T | Promise<T>): Promise<T> {
    return (await this.#interview.memo(name, make)) as T;
  }

  /**
   * Work that is done at most once, however often the handler runs; its result is kept as JSON. Throws where an earlier
   * run began it and nobody knows whether it was done.
   */
  async once<T>(name: string, act: () => T | Promise<T>): Promise<T> {
    return (await this.#interview.once(name, act)) as T;
  }
}

/** The form as the protocol wants it: without the members that only validators read. */
function formSchema(schema: AnySchema): JsonObject {
  const { $schema: _dialect, additionalProperties: _closed, ...form } = compileSchema(schema).json;
  return form;
}

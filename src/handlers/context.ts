// `ctx`, as an interface that a test can stand in for. A handler can reach nothing else. Types only, so nothing lands
// in the bundle.

import type { Principal } from "../auth/principal.ts";
import type { OutboundInit } from "../outbound/guarded-fetch.ts";
import type { JsonObject } from "../protocol/jsonrpc.ts";
import type { ClientCapability, ClientInfo, LogLevel } from "../protocol/meta.ts";
import type { Announcement } from "./publish-changes.ts";
import type { Question } from "./question.ts";
import type { Identity, LinkOptions } from "./request-scope.ts";
import type { ResourceLinkBlock } from "./content-block.ts";
import type { ElicitAnswer, ElicitedContent, Elicitations } from "./elicitation.ts";
import type { Bytes } from "./read-bytes.ts";
import type { SampleOptions, SampleParams, SampleResult } from "./sampling.ts";
import type { AnySchema } from "./schema.ts";
import type { ResourceStore } from "./resource-store.ts";

export interface Root {
  readonly uri: string;
  readonly name?: string;
}

/** Read-only headers of a request; a `Headers` object fits. */
export interface RequestHeaders extends Iterable<[string, string]> {
  get(name: string): string | null;
  has(name: string): boolean;
}

declare global {
  namespace Tenantry {
    /**
     * The type of `ctx.settings`. Redeclare it once, like `Cloudflare.Env`, or pass the type in `ctx: Context<Env,
     * Settings>`.
     */
    interface Settings {}
  }
}

/**
 * The `ctx` of a handler. `Env` is the type of the Worker's bindings; by default the one that `wrangler types`
 * generates.
 */
export interface Context<Env = Cloudflare.Env, Settings = Tenantry.Settings, Config = unknown> {
  /** The tenant of this call, and the profile of its endpoint or null. */
  readonly tenant: { readonly id: string; readonly profile: string | null };
  /** The authenticated caller. */
  readonly principal: Principal;
  /**
   * The caller's identity for requests to the tenant's own API. Throws a TypeError in a Worker without the feature
   * `login()`.
   */
  readonly identity: Identity;
  /** The HTTP request that the client sent. */
  readonly request: {
    /**
     * Request headers, without credentials (keys, tokens, cookies, sessions) and without headers that belong to this
     * hop. Empty when a stored call runs again, because its request is gone.
     */
    readonly headers: RequestHeaders;
  };
  /**
   * Name and version that the client reports, at most 64 characters each. Nothing proves them. undefined if unknown.
   */
  readonly client: ClientInfo | undefined;
  /** The request's `_meta` without the protocol's own members. */
  readonly meta: JsonObject;
  /** Id of this request in the logs. It is safe to show to clients. */
  readonly requestId: string;
  /**
   * The tenant's configuration of this tool, parsed by the tool's `config` schema, or undefined. Frozen, because other
   * calls read the same object.
   */
  readonly config: Config;
  /**
   * The tenant's settings, parsed by the Worker's `settings` schema and shared by all definitions in code. Frozen; an
   * empty object if the tenant has none.
   */
  readonly settings: Settings;
  /** The Worker's bindings. */
  readonly env: Env;
  /** The tenant's stored resources that the caller may see. */
  readonly resources: ResourceStore;
  /**
   * Aborts when the call is cancelled, when it exceeds its time limit, and when this run ends to ask the client a
   * question.
   */
  readonly signal: AbortSignal;
  /**
   * Resolves to the tenant's own secret of this name, or else to the Worker's secret `TENANT__NAME` (upper case). Never
   * resolves to another tenant's secret. Rejects if there is none. Read the secret each time you use it, so that a
   * replaced or deleted one is not used again.
   */
  secret(name: string): Promise<string>;
  /**
   * Like the global `fetch`, for URLs that may come from an attacker: only https to public addresses, checked again at
   * every redirect. Rejects with an `OutboundError` when it blocks a request. Aborts with `ctx.signal` and with a
   * signal of its own, if you pass one.
   */
  fetch(input: RequestInfo | URL, init?: OutboundInit): Promise<Response>;
  /** Continues work after the response, for at most 30 seconds. A rejection is reported to the Worker's `onError`. */
  waitUntil(work: Promise<unknown>): void;
  /**
   * Stores a body that is too large for a result, such as a report, for this caller only. Return the resulting block
   * from a tool. Each caller can have 20 links and 4 MiB in total; the oldest are deleted to make room. Rejects with a
   * TypeError in a Worker without `links()` or `gateway()`.
   */
  link(body: string | Bytes, options: LinkOptions): Promise<ResourceLinkBlock>;
  /** Reports progress, if the client asked for it. A value that does not grow is dropped. */
  progress(progress: number, total?: number, message?: string): void;
  /** Sends a log message, if the client asked for this level. `data` is any JSON value. */
  log(level: LogLevel, data: unknown, logger?: string): void;
  /**
   * Notifies subscribers that a list or the content of resources changed. Call it for lists and resources in code that
   * depend on other data; changes of stored resources are announced for you. Rejects with a TypeError for an invalid
   * URI.
   */
  announce(changed: Announcement): Promise<void>;
  /**
   * Whether the client supports this kind of question: `"elicitation"` (`elicit`, any), `"elicitation.form"` (`elicit`
   * with `schema`), `"elicitation.url"` (`elicit` with `url`), `"sampling"` (`sample`), `"sampling.tools"` (`sample`
   * with `tools`) or `"roots"`.
   */
  can(capability: ClientCapability): boolean;
  /**
   * Asks the person with a form or a URL; accepted content has the schema's type. `name` must be unique within the
   * call: it finds the answer when the handler runs again. Rejects if the client does not support it (`can` says so),
   * and inside `once`.
   */
  elicit<const Schema extends AnySchema = AnySchema>(
    name: string,
    options: Elicitations<Schema>["form" | "page"],
  ): Promise<ElicitAnswer<ElicitedContent<Schema>>>;
  /** Asks the client's model. Clients can report progress only in era 2025. */
  sample(name: string, params: SampleParams, options?: SampleOptions): Promise<SampleResult>;
  /** Asks for the folders that the client works in. */
  roots(name?: string): Promise<readonly Root[]>;
  /** Asks several questions at once, in wire form and by name. Resolves to all the answers, by the same names. */
  ask(questions: Readonly<Record<string, Question>>): Promise<Record<string, JsonObject>>;
  /**
   * Runs `make` and stores its result as JSON, so that a later run of the handler gets the result without the work.
   * `make` runs at least once.
   */
  memo<T>(name: string, make: () => T | Promise<T>): Promise<T>;
  /**
   * Runs `act` at most once, however often the handler runs, and stores its result as JSON. Rejects if an earlier run
   * started `act` and its outcome is unknown. `act` must not ask the client: ask before, and await the answer.
   */
  once<T>(name: string, act: () => T | Promise<T>): Promise<T>;
}

/** The bindings and settings that handlers read. A type for the compiler only; the member never exists. */
export interface Wants<Env, Settings> {
  readonly wants?: (env: Env, settings: Settings) => never;
}

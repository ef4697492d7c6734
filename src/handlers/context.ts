// Owns the members of `ctx`: everything a handler may use, as an interface that a test can stand in for. What it
// does not offer, a tool cannot reach.

import type { Principal } from "../auth/principal.ts";
import type { OutboundInit } from "../outbound/guarded-fetch.ts";
import type { JsonObject } from "../protocol/jsonrpc.ts";
import type { ClientCapability, ClientInfo, LogLevel } from "../protocol/meta.ts";
import type { Announcement } from "./publish-changes.ts";
import type { Question } from "./question.ts";
import type { Identity, LinkOptions } from "./request-scope.ts";
import type { ResourceLinkBlock } from "./content-block.ts";
import type { ElicitAnswer, ElicitOptions } from "./elicitation.ts";
import type { Bytes } from "./read-bytes.ts";
import type { SampleOptions } from "./sampling.ts";
import type { ResourceStore } from "./resource-store.ts";

export interface Root {
  readonly uri: string;
  readonly name?: string;
}

/** `Headers` is one, to be read only. */
export interface RequestHeaders extends Iterable<[string, string]> {
  get(name: string): string | null;
  has(name: string): boolean;
}

export interface UntypedContext {
  readonly tenant: { readonly id: string; readonly profile: string | null };
  readonly principal: Principal;
  /** The person who calls, towards the tenant's own API. Throws in a Worker without the feature `login()`. */
  readonly identity: Identity;
  /** The request that the client sent. */
  readonly request: {
    /**
     * Without what proves who calls (keys, tokens, cookies, sessions) and what is between us and the client. Empty where a
     * stored call runs anew, without its request.
     */
    readonly headers: RequestHeaders;
  };
  /** As it names itself, at most 64 characters each: nothing proves it. undefined where it is not known. */
  readonly client: ClientInfo | undefined;
  /** The request's `_meta` without the protocol's own members. */
  readonly meta: JsonObject;
  /** By which this request is found in the logs, and which clients may be told. */
  readonly requestId: string;
  /** This tenant's configuration of this tool, frozen: other calls read the same. undefined where there is none. */
  readonly config: unknown;
  /** What the tenant says for everything in code, frozen; an empty object where it says nothing. */
  readonly settings: unknown;
  /** The Worker's bindings. */
  readonly env: unknown;
  /** The tenant's stored resources, as far as the caller sees them. */
  readonly resources: ResourceStore;
  /** Aborts when the call is cancelled, when its time is over, and when this run of it ends at a question. */
  readonly signal: AbortSignal;
  /**
   * The tenant's own secret of this name, else the Worker's named `TENANT__NAME` in upper case; never another tenant's.
   * Throws where there is none. Ask for it where it is used, so that one that was replaced or deleted is not used.
   */
  secret(name: string): Promise<string>;
  /**
   * As the global `fetch`, ended by `signal` and by a signal of its own, for URLs that may come from anybody: https to
   * public addresses, looked at again at every redirect. Rejects with an OutboundError for what is refused.
   */
  fetch(input: RequestInfo | URL, init?: OutboundInit): Promise<Response>;
  /** Goes on with the work after the answer, for 30 seconds at most. Where it fails, the Worker's `onError` hears of it. */
  waitUntil(work: Promise<unknown>): void;
  /**
   * Keeps what is too large for a result, such as a report, for the caller alone; a tool returns the block that it gives.
   * 20 of them and 4 MiB at once for one caller: the oldest make room. Throws in a Worker without `links()` or `gateway()`.
   */
  link(body: string | Bytes, options: LinkOptions): Promise<ResourceLinkBlock>;
  /** Sent only to a client that asked for progress; a value that does not grow is dropped. */
  progress(progress: number, total?: number, message?: string): void;
  /** Sent only to a client that asked for this level; `data` is any JSON. */
  log(level: LogLevel, data: unknown, logger?: string): void;
  /**
   * Tells whoever listens that a list changed, or the content of resources. Changes of what is stored are told without
   * it; this is for lists and resources in code that depend on something else. Throws a TypeError for what is no URI.
   */
  announce(changed: Announcement): Promise<void>;
  /** Whether this client can be asked. */
  can(capability: ClientCapability): boolean;
  /**
   * Asks the person with a form or a URL. The name must be unique within the call: it finds the answer when the handler
   * runs again. Throws where the client cannot be asked.
   */
  elicit(name: string, options: ElicitOptions): Promise<ElicitAnswer>;
  /** Asks the client's model; `params` as in sampling/createMessage. Only in era 2025 can a client report progress. */
  sample(name: string, params: JsonObject, options?: SampleOptions): Promise<JsonObject>;
  /** Asks for the folders that the client works in. */
  roots(name?: string): Promise<readonly Root[]>;
  /** Asks several questions at once, in wire form and by name; gives all the answers. */
  ask(questions: Readonly<Record<string, Question>>): Promise<Record<string, JsonObject>>;
  /** Work whose result, as JSON, is kept for when the handler runs again after a question; done at least once. */
  memo<T>(name: string, make: () => T | Promise<T>): Promise<T>;
  /**
   * Work that is done at most once, however often the handler runs; its result is kept as JSON. Throws where an earlier
   * run began it and nobody knows whether it was done.
   */
  once<T>(name: string, act: () => T | Promise<T>): Promise<T>;
}

// A running request as methods and sources see it: its params, its revision, and how its client is notified and asked.
// The caller's identity is not here, but in the host of the call.

import type { RevisionFeatures } from "./revisions.ts";
import type { JsonObject, MessageId } from "./jsonrpc.ts";
import type { ClientInfo, LogLevel } from "./meta.ts";

export interface McpRequest {
  readonly revision: RevisionFeatures;
  readonly id: MessageId;
  readonly method: string;
  readonly params: JsonObject;
  /** The client's declared capabilities; empty for a 2025 request without a session. */
  readonly capabilities: JsonObject;
  readonly progressToken: string | number | undefined;
  /** Era 2026 only: the log level that this request asks for. In era 2025 the session stores the level. */
  readonly logLevel: LogLevel | undefined;
  readonly session: SessionPort | undefined;
  /** Era 2025 only: asks the client questions; undefined if this call cannot. */
  readonly clientRequester?: ClientRequester | undefined;
  readonly sink: EventSink;
  /** Set if the caller wants to know whether the call's target was found. */
  readonly lookup?: { isFound: boolean } | undefined;
  /** A request header by name. Clients of era 2026 repeat some arguments in headers. */
  header(name: string): string | null;
  /** Milliseconds since the epoch, for methods of this folder, which has no clock. Other folders read `Date.now()`. */
  now(): number;
}

/** The session of a 2025 request. */
export interface SessionPort {
  /** The client's initialize requested something that is not a dated revision, such as "1.0". */
  readonly isUnknownRevision: boolean;
  /** The client's name from its initialize; undefined if not known. */
  readonly client?: ClientInfo | undefined;
  /** Resolves to undefined if the client never set a level. */
  logLevel(): Promise<LogLevel | undefined>;
  setLogLevel(level: LogLevel): Promise<void>;
  /**
   * `uri` is normalized, `original` is as the client wrote it. Resolves to false if the session has no room for another
   * subscription.
   */
  subscribe(uri: string, original: string): Promise<boolean>;
  unsubscribe(uri: string): Promise<void>;
}

export interface OutgoingRequest {
  readonly name: string;
  /** Computed from the question, its name and its attempt; matches responses to questions. */
  readonly digest: string;
  readonly method: string;
  readonly params?: JsonObject;
  /** Receives the params of progress notifications. Without it, the question has no progress token. */
  readonly onProgress?: ((progress: JsonObject) => void) | undefined;
}

export type ClientResponse =
  | { readonly result: JsonObject }
  | { readonly error: { readonly code: number; readonly message: string } };

/** How a running call of era 2025 asks its client, on its own stream. */
export interface ClientRequester {
  /**
   * The name under which the tenant object records what this call did once; undefined for a call that cannot run again.
   */
  readonly nonce: string | undefined;
  /** Results of `memo` and `once` from earlier runs of the same call, by key. */
  readonly memos: Readonly<Record<string, unknown>>;
  /**
   * Waits until every question is answered; resolves to the responses by digest. Resolves to undefined if another run
   * of the call will get them; then this run must stop. `memos`: stored for that run.
   */
  request(
    requests: readonly OutgoingRequest[],
    memos: Readonly<Record<string, unknown>>,
  ): Promise<ReadonlyMap<string, ClientResponse> | undefined>;
  /** Tells the client that the open questions no longer need an answer. */
  cancel(reason: string): void;
  /** Whether this run ends the call. false: another run continues it, or has taken it over. */
  isFinalRun?(): Promise<boolean>;
}

/** Receives the notifications of a running request. Notifications that cannot be delivered are dropped silently. */
export interface EventSink {
  notify(method: string, params: JsonObject): void;
  /** Aborts when the client cancels: with a notification in era 2025, by closing the stream in era 2026. */
  readonly cancelled: AbortSignalLike;
}

/** `AbortSignal` without the platform's types, which this folder does not use. */
export interface AbortSignalLike {
  readonly aborted: boolean;
  addEventListener(type: "abort", listener: () => void): void;
  removeEventListener(type: "abort", listener: () => void): void;
}

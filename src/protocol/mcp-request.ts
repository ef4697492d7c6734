// Owns what methods and sources may know of a running request: what it asks, in which dialect, and how its client is
// notified and asked. Refuses to say who calls: that is known to the host of the call.

import type { RevisionFeatures } from "./revisions.ts";
import type { JsonObject, RequestId } from "./jsonrpc.ts";
import type { ClientInfo, LogLevel } from "./meta.ts";

/** One running request. */
export interface McpRequest {
  readonly revision: RevisionFeatures;
  readonly id: RequestId;
  readonly method: string;
  readonly params: JsonObject;
  /** The client's declared capabilities; empty for a 2025 request without a session. */
  readonly capabilities: JsonObject;
  readonly progressToken: string | number | undefined;
  /** Era 2026 only: the level that this request asked for. In era 2025 the session keeps the level. */
  readonly logLevel: LogLevel | undefined;
  readonly session: SessionPort | undefined;
  /** Era 2025 only: how this call asks its client; undefined where it cannot ask. */
  readonly clientRequester?: ClientRequester | undefined;
  readonly sink: EventSink;
  /** Set where somebody wants to know whether the call found what it names. */
  readonly lookup?: { isFound: boolean } | undefined;
  /** A request header by name. Clients of era 2026 repeat some arguments in headers. */
  header(name: string): string | null;
  /** Milliseconds since the epoch. The caller brings the clock, because this folder has none. */
  now(): number;
}

/** The session of a 2025 request: what it is and what it remembers. */
export interface SessionPort {
  /** The client's initialize asked for something that is no dated revision, such as "1.0". */
  readonly isUnknownRevision: boolean;
  /** As the client named itself in its initialize; undefined where that is not known. */
  readonly client?: ClientInfo | undefined;
  /** undefined: the client never set one. */
  logLevel(): Promise<LogLevel | undefined>;
  setLogLevel(level: LogLevel): Promise<void>;
  /** `uri` is normalized, `asked` is as the client wrote it. false: the session has no room for another. */
  subscribe(uri: string, original: string): Promise<boolean>;
  unsubscribe(uri: string): Promise<void>;
}

export interface OutgoingRequest {
  readonly name: string;
  /** Made from the question, its name and its try: answers are matched to questions by it. */
  readonly digest: string;
  readonly method: string;
  readonly params?: JsonObject;
  /** Receives the params of progress notifications; without it the question carries no progress token. */
  readonly onProgress?: ((progress: JsonObject) => void) | undefined;
}

export type ClientResponse =
  | { readonly result: JsonObject }
  | { readonly error: { readonly code: number; readonly message: string } };

/** How a running call of era 2025 asks its client, on its own stream. */
export interface ClientRequester {
  /** The name under which the authority records what this call did once; undefined for a call that cannot run again. */
  readonly nonce: string | undefined;
  /** Results of `memo` and `once` from earlier runs of the same call, by key. */
  readonly memos: Readonly<Record<string, unknown>>;
  /**
   * Waits until every question is answered; gives the answers by digest. undefined: another run of the call will get
   * them, and this run must stop. `memos`: what that run shall find.
   */
  request(
    requests: readonly OutgoingRequest[],
    memos: Readonly<Record<string, unknown>>,
  ): Promise<ReadonlyMap<string, ClientResponse> | undefined>;
  /** Tells the client that nobody waits for the open answers any more. */
  cancel(reason: string): void;
  /** Whether it is this run that ends the call. false: another one goes on with it, or has taken it over. */
  isFinalRun?(): Promise<boolean>;
}

/** Where notifications of a running request go. Those that cannot be delivered are dropped silently. */
export interface EventSink {
  notify(method: string, params: JsonObject): void;
  /** Aborts when the client cancels: with a notification in era 2025, by closing the stream in era 2026. */
  readonly cancelled: AbortSignalLike;
}

/** What `AbortSignal` is, without its type: this folder knows no platform. */
export interface AbortSignalLike {
  readonly aborted: boolean;
  addEventListener(type: "abort", listener: () => void): void;
  removeEventListener(type: "abort", listener: () => void): void;
}

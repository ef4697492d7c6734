// Owns what a running request is to a method and to a source: who asks, under which rules, and how it is told and asked.

import type { Dialect } from "./era.ts";
import type { JsonObject, RequestId } from "./jsonrpc.ts";
import type { LogLevel } from "./meta.ts";

/** Everything a handler may know about the request that runs it. */
export interface Call {
  readonly dialect: Dialect;
  readonly id: RequestId;
  readonly method: string;
  readonly params: JsonObject;
  /** The client's declared capabilities; empty for a bare 2025 request. */
  readonly capabilities: JsonObject;
  readonly progressToken: string | number | undefined;
  /** Era 2026: the level this request asked for. In era 2025 the session knows. */
  readonly logLevel: LogLevel | undefined;
  readonly session: SessionPort | undefined;
  /** Era 2025: how this call asks its client; undefined where it cannot. */
  readonly questions?: QuestionPort | undefined;
  readonly sink: EventSink;
  /** A request header by name; era 2026 mirrors arguments there. */
  header(name: string): string | null;
  /** Milliseconds since the epoch: this folder has no clock. */
  now(): number;
}

/** What a 2025 session remembers. */
export interface SessionPort {
  /** The client asked for no official revision in initialize. */
  readonly unofficial: boolean;
  /** undefined: the client never set one. */
  logLevel(): Promise<LogLevel | undefined>;
  setLogLevel(level: LogLevel): Promise<void>;
  /** `asked` is how the client wrote it. false: there are as many subscriptions as there may be. */
  subscribe(uri: string, asked: string): Promise<boolean>;
  unsubscribe(uri: string): Promise<void>;
}

export interface PutQuestion {
  readonly name: string;
  /** Another text, another question. */
  readonly digest: string;
  readonly method: string;
  readonly params?: JsonObject;
  /** Called with what the client says of its progress; absent: it is not asked to. */
  readonly heard?: ((progress: JsonObject) => void) | undefined;
}

export type ClientResponse =
  | { readonly result: JsonObject }
  | { readonly error: { readonly code: number; readonly message: string } };

/** How a running call of era 2025 asks its client, on its own stream. */
export interface QuestionPort {
  /** Under which name the authority remembers what this call did once; undefined: it cannot run again. */
  readonly nonce: string | undefined;
  /** What earlier runs of the same call kept. */
  readonly memos: Readonly<Record<string, unknown>>;
  /** Answers by digest, all of them; undefined: the answer will find somebody else, and this run is over. */
  ask(
    questions: readonly PutQuestion[],
    memos: Readonly<Record<string, unknown>>,
  ): Promise<ReadonlyMap<string, ClientResponse> | undefined>;
  /** Nobody waits for the answers any more. */
  withdraw(reason: string): void;
}

/** Where notifications of a running request go. Delivery may be impossible; then they are dropped without a word. */
export interface EventSink {
  notify(method: string, params: JsonObject): void;
  /** Aborts when the request is cancelled by the rule of its era. */
  readonly cancelled: AbortSignalLike;
}

/** What `AbortSignal` is, without its type: this folder knows no platform. */
export interface AbortSignalLike {
  readonly aborted: boolean;
  addEventListener(type: "abort", listener: () => void): void;
}

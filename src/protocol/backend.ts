// Owns the port between the protocol and what a tenant serves: definitions in wire form, and calls.
// Refuses to say where things come from: content in code, in KV, or from an upstream look the same here.

import type { Dialect } from "./era.ts";
import type { Failure } from "./errors.ts";
import type { ParamHeader } from "./headers.ts";
import type { JsonObject, RequestId } from "./jsonrpc.ts";
import type { LogLevel } from "./meta.ts";

export interface ServerInfo {
  readonly name: string;
  readonly version: string;
  readonly title?: string;
  readonly description?: string;
  readonly websiteUrl?: string;
  readonly icons?: readonly JsonObject[];
}

/** https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching; milliseconds. */
export interface CacheHint {
  readonly ttlMs: number;
  readonly cacheScope: "public" | "private";
}

export const UNCACHED: CacheHint = { ttlMs: 0, cacheScope: "private" };

export interface ToolDefinition {
  readonly wire: JsonObject & { readonly name: string };
  readonly paramHeaders: readonly ParamHeader[];
  /** Its result outlives a lost connection, in revisions that can resume. */
  readonly resumable?: Resumable | undefined;
}

/** How the stream of a resumable call behaves; https://modelcontextprotocol.io/specification/2025-11-25/basic/transports */
export interface Resumable {
  /** Milliseconds after which the connection is closed, for the client to come back; only where revisions know it. */
  readonly closeAfterMs: number;
  /** Milliseconds after which it shall come back. */
  readonly retryMs: number;
}

export interface PromptDefinition {
  readonly wire: JsonObject & { readonly name: string };
}

export interface TemplateDefinition {
  readonly wire: JsonObject & { readonly uriTemplate: string };
}

export type ContentBlock = JsonObject & { readonly type: string };

/** A result that is JSON already, without the members that an era stamps on. */
export class Encoded {
  readonly json: string;
  constructor(json: string) {
    this.json = json;
  }
}

export interface Complete {
  readonly kind: "complete";
  readonly result: JsonObject | Encoded;
  readonly cache?: CacheHint;
}

export interface Violation {
  readonly path: string;
  readonly expected: string;
  readonly received: string;
  readonly message: string;
}

/** Arguments that break a tool's input schema; the dialect says whether that is an error or a result. */
export interface InvalidArguments {
  readonly kind: "invalidArguments";
  readonly violations: readonly Violation[];
}

/** Era 2026 only: https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr */
export interface InputRequired {
  readonly kind: "inputRequired";
  readonly inputRequests?: Readonly<Record<string, JsonObject>>;
  readonly requestState: string;
}

export type CallOutcome = Complete | InputRequired | Failure;

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

export interface Page {
  readonly items: readonly JsonObject[];
  readonly nextCursor?: string;
}

export interface CompletionRequest {
  readonly ref:
    | { readonly type: "prompt"; readonly name: string }
    | { readonly type: "resource"; readonly uri: string };
  readonly argument: { readonly name: string; readonly value: string };
  readonly context: Readonly<Record<string, string>>;
}

/** One view: what this principal sees of this tenant in this profile. */
export interface Backend {
  readonly server: ServerInfo;
  readonly instructions: string | undefined;
  /** How long, and by whom, the lists of definitions may be kept. */
  readonly definitionsCache: CacheHint;
  readonly tools: readonly ToolDefinition[];
  readonly prompts: readonly PromptDefinition[];
  readonly templates: readonly TemplateDefinition[];
  /** A failure says why a name that was there is not; undefined: there is no such name. */
  tool(name: string): ToolDefinition | Failure | undefined;
  prompt(name: string): PromptDefinition | Failure | undefined;
  callTool(tool: ToolDefinition, args: JsonObject, call: Call): Promise<CallOutcome | InvalidArguments>;
  getPrompt(prompt: PromptDefinition, args: Readonly<Record<string, string>>, call: Call): Promise<CallOutcome>;
  /** `cursor` is the client's; the backend decodes it and answers invalidParams when it is not its own. */
  listResources(cursor: string | undefined): Promise<Page | Failure>;
  /** `uri` is normalized; `asked` is how the client wrote it and what the contents say. */
  readResource(uri: string, asked: string, call: Call): Promise<CallOutcome>;
  complete(request: CompletionRequest, call: Call): Promise<readonly string[] | Failure>;
}

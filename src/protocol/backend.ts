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

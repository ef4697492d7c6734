// The interface that the protocol's methods call: one view (what one principal sees of one tenant in one profile). The
// origin of its definitions (code, storage, another server) is hidden.

import type { McpRequest } from "./mcp-request.ts";
import type { PromptDefinition, ServerInfo, TemplateDefinition, ToolDefinition, ViewItem } from "./definition.ts";
import type { Failure } from "./errors.ts";
import type { JsonObject } from "./jsonrpc.ts";
import type { CacheHint, CallOutcome, ToolOutcome } from "./call-outcome.ts";
import type { ResourceRef, CompletionQuery } from "./source.ts";

/** The definitions of a view. The same view gives the same object, because encoded lists are cached by it. */
export interface Definitions {
  readonly server: ServerInfo;
  readonly instructions: string | undefined;
  /** Protocol extensions that the author declares: settings by identifier. */
  readonly extensions?: JsonObject | undefined;
  /** How long clients may cache the lists, and whether callers may share them. */
  readonly cache: CacheHint;
  readonly tools: readonly ViewItem<ToolDefinition>[];
  readonly prompts: readonly PromptDefinition[];
  readonly templates: readonly TemplateDefinition[];
  /** `_meta` of every list: what is missing from the lists, and why; undefined if nothing is missing. */
  readonly meta: JsonObject | undefined;
}

export interface CallableTool {
  readonly definition: ToolDefinition;
  call(args: JsonObject, request: McpRequest): Promise<ToolOutcome>;
}

export interface CallablePrompt {
  readonly definition: PromptDefinition;
  get(args: Readonly<Record<string, string>>, request: McpRequest): Promise<CallOutcome>;
}

export interface ResourceList {
  readonly items: readonly JsonObject[];
  readonly nextCursor?: string;
  readonly meta?: JsonObject | undefined;
  /** Absent: the same as for the lists of definitions. */
  readonly cacheScope?: CacheHint["cacheScope"];
}

/** The prompt or template whose argument or variable a user is typing. */
export type CompletionRef =
  | { readonly type: "prompt"; readonly name: string }
  | { readonly type: "resource"; readonly uri: string };

export interface RequestHandlers {
  readonly definitions: Definitions;
  /** A failure says why a known name cannot be used, such as a suspended tool. undefined: there is no such name. */
  tool(name: string): CallableTool | Failure | undefined;
  prompt(name: string): CallablePrompt | Failure | undefined;
  /** `cursor` comes from the client; a cursor that is not one of the view's own gets `invalidParams`. */
  listResources(cursor: string | undefined, request: McpRequest): Promise<ResourceList | Failure>;
  readResource(ref: ResourceRef, request: McpRequest): Promise<CallOutcome>;
  /** Matching values, or an outcome that is returned unchanged. */
  complete(ref: CompletionRef, query: CompletionQuery, request: McpRequest): Promise<readonly string[] | CallOutcome>;
}

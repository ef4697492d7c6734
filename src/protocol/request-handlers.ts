// Owns what the protocol's methods ask: one view (what one principal sees of one tenant in one profile), ready to be
// called. Refuses to say where things come from: code, storage and a server elsewhere look the same here.

import type { McpRequest } from "./mcp-request.ts";
import type { PromptDefinition, ServerInfo, TemplateDefinition, ToolDefinition } from "./definition.ts";
import type { Failure } from "./errors.ts";
import type { JsonObject } from "./jsonrpc.ts";
import type { CacheHint, CallOutcome, InvalidArguments } from "./call-outcome.ts";
import type { ResourceRef, CompletionQuery } from "./source.ts";

/**
 * What a view lists. A backend gives the same object for as long as the view is the same, because the encoded lists are
 * cached under it.
 */
export interface Definitions {
  readonly server: ServerInfo;
  readonly instructions: string | undefined;
  /** Extensions of the protocol that the author declares: settings by identifier. */
  readonly extensions?: JsonObject | undefined;
  /** How long clients may keep the lists, and whether others may share them. */
  readonly cache: CacheHint;
  readonly tools: readonly ToolDefinition[];
  readonly prompts: readonly PromptDefinition[];
  readonly templates: readonly TemplateDefinition[];
  /** `_meta` of every list: what is missing from the lists, and why; undefined when nothing is missing. */
  readonly meta: JsonObject | undefined;
}

export interface CallableTool {
  readonly definition: ToolDefinition;
  call(args: JsonObject, request: McpRequest): Promise<CallOutcome | InvalidArguments>;
}

export interface CallablePrompt {
  readonly definition: PromptDefinition;
  get(args: Readonly<Record<string, string>>, request: McpRequest): Promise<CallOutcome>;
}

export interface ResourceList {
  readonly items: readonly JsonObject[];
  readonly nextCursor?: string;
  readonly meta?: JsonObject | undefined;
  /** Absent: as the lists of definitions. */
  readonly cacheScope?: CacheHint["cacheScope"];
}

export interface CompletionRequest extends CompletionQuery {
  readonly ref:
    | { readonly type: "prompt"; readonly name: string }
    | { readonly type: "resource"; readonly uri: string };
}

export interface RequestHandlers {
  readonly definitions: Definitions;
  /** A failure says why a known name cannot be used, such as a suspended tool; undefined: there is no such name. */
  tool(name: string): CallableTool | Failure | undefined;
  prompt(name: string): CallablePrompt | Failure | undefined;
  /** `cursor` comes from the client; the backend answers `invalidParams` to one that it did not make. */
  listResources(cursor: string | undefined, request: McpRequest): Promise<ResourceList | Failure>;
  readResource(ref: ResourceRef, request: McpRequest): Promise<CallOutcome>;
  /** The values that fit, or an outcome that is answered as it is. */
  complete(request: CompletionRequest, call: McpRequest): Promise<readonly string[] | CallOutcome>;
}

// Owns what the protocol's methods ask: one view (what one principal sees of one tenant in one profile), ready to be
// called. Refuses to say where things come from: code, storage and a server elsewhere look the same here.

import type { Call } from "./call.ts";
import type { PromptDefinition, ServerInfo, TemplateDefinition, ToolDefinition } from "./definition.ts";
import type { Failure } from "./errors.ts";
import type { JsonObject } from "./jsonrpc.ts";
import type { CacheHint, CallOutcome, InvalidArguments } from "./outcome.ts";
import type { AskedUri, AskedValue } from "./source.ts";

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

export interface FoundTool {
  readonly definition: ToolDefinition;
  call(args: JsonObject, call: Call): Promise<CallOutcome | InvalidArguments>;
}

export interface FoundPrompt {
  readonly definition: PromptDefinition;
  get(args: Readonly<Record<string, string>>, call: Call): Promise<CallOutcome>;
}

export interface Page {
  readonly items: readonly JsonObject[];
  readonly nextCursor?: string;
  readonly meta?: JsonObject | undefined;
  /** Absent: as the lists of definitions. */
  readonly cacheScope?: CacheHint["cacheScope"];
}

export interface CompletionRequest extends AskedValue {
  readonly ref:
    | { readonly type: "prompt"; readonly name: string }
    | { readonly type: "resource"; readonly uri: string };
}

export interface Backend {
  readonly definitions: Definitions;
  /** A failure says why a known name cannot be used, such as a suspended tool; undefined: there is no such name. */
  tool(name: string): FoundTool | Failure | undefined;
  prompt(name: string): FoundPrompt | Failure | undefined;
  /** `cursor` comes from the client; the backend answers `invalidParams` to one that it did not make. */
  listResources(cursor: string | undefined, call: Call): Promise<Page | Failure>;
  readResource(asked: AskedUri, call: Call): Promise<CallOutcome>;
  /** The values that fit, or an outcome that is answered as it is. */
  complete(request: CompletionRequest, call: Call): Promise<readonly string[] | CallOutcome>;
}

// Owns the port to whatever offers tools, prompts and resources: code, storage, a server elsewhere. A source offers and
// answers under its own names. Refuses to decide what a caller sees, and under which names: a view does.
// `Host` is what a request brings along for whoever answers it; this folder does not look at it.

import type { McpRequest } from "./mcp-request.ts";
import type { Cause } from "./cause.ts";
import type { PromptDefinition, ResourceDefinition, TemplateDefinition, ToolDefinition } from "./definition.ts";
import type { JsonObject } from "./jsonrpc.ts";
import type { CacheHint, CallOutcome, InvalidArguments } from "./call-outcome.ts";

/** In words for operators and clients alike, without secrets; and as codes. */
interface Unavailability {
  readonly why: string;
  readonly causes?: readonly Cause[];
}

/** How well a source knows what it offers. */
export type SourceState =
  | { readonly kind: "fresh" }
  /** It could not look again, and offers what it knew at `since` (milliseconds since the epoch). */
  | ({ readonly kind: "lastGood"; readonly since: number } & Unavailability)
  /** Something that it should offer is missing. */
  | ({ readonly kind: "degraded" } & Unavailability)
  /** It offers nothing, because nobody knows yet what it has. */
  | ({ readonly kind: "unread" } & Unavailability);

export interface ServedTool<Host = unknown> extends ToolDefinition {
  /** As its source calls it, and policy compares it; a view may list it under another name. */
  readonly name: string;
  /** The name under which it is listed unless a profile gives one, where clients would refuse `name`. */
  readonly listedName?: string;
  /** As the user interfaces of its source call it: a name that can be called where nothing else has it, and is not listed. */
  readonly ownName?: string;
  /** Set for a tool that exists only while the tenant or the profile switches search on. */
  readonly only?: "search";
  call(args: JsonObject, request: McpRequest, host: Host): Promise<CallOutcome | InvalidArguments>;
}

export interface ServedPrompt<Host> extends PromptDefinition {
  readonly name: string;
  /** As of a tool. */
  readonly listedName?: string;
  get(args: Readonly<Record<string, string>>, request: McpRequest, host: Host): Promise<CallOutcome>;
  complete(query: CompletionQuery, request: McpRequest, host: Host): Promise<readonly string[] | CallOutcome>;
}

export interface ServedResource<Host> extends ResourceDefinition {
  read(ref: ResourceRef, request: McpRequest, host: Host): Promise<CallOutcome>;
}

export interface ServedTemplate<Host> extends TemplateDefinition {
  /** Its resources, page by page. What it has then, it alone says: a shelf's of the same names are not seen. */
  readonly listing?: ResourceLister<Host>;
  /** Absent where it reads nothing itself: it only describes what others have. */
  matches?(uri: string): boolean;
  /** Matches what it matches, and more. */
  readonly glob?: string;
  /** undefined: the URI does not match this template, or there is no such resource. */
  read(ref: ResourceRef, request: McpRequest, host: Host): Promise<CallOutcome | undefined>;
  complete(query: CompletionQuery, request: McpRequest, host: Host): Promise<readonly string[] | CallOutcome>;
}

export interface ResourceRef {
  /** In the normal form of `parseUri`. */
  readonly uri: string;
  /** As the client wrote it; the contents repeat it. */
  readonly asked: string;
}

/** One argument of a prompt, or variable of a template, that somebody is typing. */
export interface CompletionQuery {
  readonly name: string;
  readonly value: string;
  /** The values of the other arguments or variables that were chosen before. */
  readonly known: Readonly<Record<string, string>>;
}

/** A source's resources that are listed page by page, because they are too many to hold in memory. */
export interface PagedResources<Host> {
  /** `cursor`: the `next` of the page before, undefined for the first. A page may be empty without being the last. */
  list(page: PageRequest, host: Host): Promise<ResourcePage>;
  /** undefined: there is no such resource. */
  read(ref: ResourceRef, request: McpRequest, host: Host): Promise<CallOutcome | undefined>;
}

export interface ResourceLister<Host> {
  /** As of a shelf. */
  list(page: PageRequest, request: McpRequest, host: Host): Promise<ResourcePage>;
}

export interface PageRequest {
  readonly cursor: string | undefined;
  readonly limit: number;
}

export interface ResourcePage {
  readonly items: readonly ResourceDefinition[];
  readonly next?: string;
}

/** What one notification stream wants to be told. */
export interface NotificationFilter {
  readonly tools: boolean;
  readonly prompts: boolean;
  readonly resources: boolean;
  /** In the normal form of `parseUri`. */
  readonly uris: readonly string[];
}

/** Something that a source has and does not offer, under the name that it would have. `why` has no secrets in it. */
export interface HiddenItem {
  readonly kind: "tools" | "prompts" | "resources";
  readonly name: string;
  readonly why: string;
}

export interface Source<Host> {
  /** 1 to 64 of A-Z, a-z, 0-9, "_", "-"; unique in the tenant and never changed, because cursors contain it. */
  readonly id: string;
  readonly state: SourceState;
  /** What operators are told beside its state: what it says, or where it leads. No caller is told. */
  readonly detail?: string;
  /** With which the names of its tools and prompts begin, those too that nobody knows yet; absent: with anything. */
  readonly prefix?: string;
  /** How long clients may keep what it offers, and whether others may share it; undefined: as the tenant says. */
  readonly cache?: CacheHint;
  /** For the model: what it should know to use this source. */
  readonly instructions?: string;
  readonly tools: readonly ServedTool<Host>[];
  readonly prompts: readonly ServedPrompt<Host>[];
  readonly resources: readonly ServedResource<Host>[];
  readonly templates: readonly ServedTemplate<Host>[];
  /** For operators who ask why something is not there. */
  readonly withheld?: () => readonly HiddenItem[];
  /**
   * In place of what `state` says to who sees everything: what lacks to somebody who sees what lets pass. `isWhole`: nothing
   * is hidden from them by its name, as far as is known. undefined: nothing.
   */
  readonly lacks?: (sees: (one: Pick<HiddenItem, "kind" | "name">) => boolean, isWhole: boolean) => string | undefined;
  readonly shelf?: PagedResources<Host>;
  /** Whether a list fails when the shelf does; otherwise the list leaves the shelf out and says so in `_meta`. */
  readonly required?: boolean;
  /** Called when a stream begins to listen; the function that it returns is called when the stream ends. */
  interest?(wanted: NotificationFilter, host: Host): () => void;
}

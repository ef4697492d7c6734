// The interface to everything that provides tools, prompts and resources: code, storage, or another server. A source
// uses its own names; a view decides what a caller sees, and under which names. `Host` is the request's context, which
// sources pass on and this folder does not read.

import type { McpRequest } from "./mcp-request.ts";
import type { Cause } from "./cause.ts";
import type { PromptDefinition, ResourceDefinition, TemplateDefinition, ToolDefinition } from "./definition.ts";
import type { JsonObject } from "./jsonrpc.ts";
import type { CacheHint, CallOutcome, ToolOutcome } from "./call-outcome.ts";

/** In words for operators and clients alike, without secrets; and as codes. */
interface Unavailability {
  readonly why: string;
  readonly causes?: readonly Cause[];
}

/** How current a source's definitions are. */
export type SourceState =
  | { readonly kind: "fresh" }
  /** A refresh failed; the source serves its definitions of `since` (milliseconds since the epoch). */
  | ({ readonly kind: "lastGood"; readonly since: number } & Unavailability)
  /** Some of the source's definitions are missing. */
  | ({ readonly kind: "degraded" } & Unavailability)
  /** The source serves nothing, because it was never read. */
  | ({ readonly kind: "unread" } & Unavailability);

export interface SourceTool<Host = unknown> extends ToolDefinition {
  /** The name in its source, which policies match; a view may list the tool under another name. */
  readonly name: string;
  /** The name under which the tool is listed unless a profile renames it; set where clients would reject `name`. */
  readonly listedName?: string;
  /**
   * The name that its source's user interfaces call. It can be called if nothing else has this name, and is not listed.
   */
  readonly ownName?: string;
  /** Set for a tool that exists only while the tenant or the profile enables search. */
  readonly only?: "search";
  call(args: JsonObject, request: McpRequest, host: Host): Promise<ToolOutcome>;
}

export interface SourcePrompt<Host> extends PromptDefinition {
  readonly name: string;
  /** As for a tool. */
  readonly listedName?: string;
  get(args: Readonly<Record<string, string>>, request: McpRequest, host: Host): Promise<CallOutcome>;
  complete(query: CompletionQuery, request: McpRequest, host: Host): Promise<readonly string[] | CallOutcome>;
}

export interface SourceResource<Host> extends ResourceDefinition {
  read(ref: ResourceRef, request: McpRequest, host: Host): Promise<CallOutcome>;
}

export interface SourceTemplate<Host> extends TemplateDefinition {
  /**
   * The template's resources, page by page. If set, it is the only source of the template's list: stored resources of
   * the same names are not shown.
   */
  readonly listing?: ResourceLister<Host>;
  /** Absent if the template reads nothing itself, but only describes other resources. */
  matches?(uri: string): boolean;
  /** A glob that matches every URI that the template matches, and possibly more. */
  readonly glob?: string;
  /** Returns undefined if the URI does not match this template, or if there is no such resource. */
  read(ref: ResourceRef, request: McpRequest, host: Host): Promise<CallOutcome | undefined>;
  complete(query: CompletionQuery, request: McpRequest, host: Host): Promise<readonly string[] | CallOutcome>;
}

export interface ResourceRef {
  /** In the normal form of `parseUri`. */
  readonly uri: string;
  /** As the client wrote it; the contents repeat it. */
  readonly asked: string;
}

/** One argument of a prompt, or variable of a template, that a user is typing. */
export interface CompletionQuery {
  readonly name: string;
  readonly value: string;
  /** The values of the other arguments or variables, chosen before. */
  readonly known: Readonly<Record<string, string>>;
}

/** A source's resources that are listed page by page, because they are too many to hold in memory. */
export interface PagedResources<Host> {
  /**
   * `cursor`: `next` of the previous page; undefined for the first page. A page may be empty without being the last.
   */
  list(page: PageRequest, host: Host): Promise<ResourcePage>;
  /** Returns undefined if there is no such resource. */
  read(ref: ResourceRef, request: McpRequest, host: Host): Promise<CallOutcome | undefined>;
}

export interface ResourceLister<Host> {
  /** As `PagedResources.list`. */
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

/** The notifications that one stream wants. */
export interface NotificationFilter {
  readonly tools: boolean;
  readonly prompts: boolean;
  readonly resources: boolean;
  /** In the normal form of `parseUri`. */
  readonly uris: readonly string[];
}

/** A definition that a source has and does not serve, under the name that it would have. `why` contains no secrets. */
export interface HiddenItem {
  readonly kind: "tools" | "prompts" | "resources";
  readonly name: string;
  readonly why: string;
}

export interface Source<Host> {
  /** 1 to 64 of A-Z, a-z, 0-9, "_", "-". Unique in the tenant and permanent, because cursors contain it. */
  readonly id: string;
  readonly state: SourceState;
  /** More about the state, for operators only: the server's own words, or where it leads. Never shown to callers. */
  readonly detail?: string;
  /**
   * A prefix of all names of the source's tools and prompts, including names not known yet. Absent: no common prefix.
   */
  readonly prefix?: string;
  /**
   * How long clients may cache the source's definitions, and whether callers may share them. undefined: the tenant's
   * setting.
   */
  readonly cache?: CacheHint;
  /** Guidance for models on how to use this source. */
  readonly instructions?: string;
  readonly tools: readonly SourceTool<Host>[];
  readonly prompts: readonly SourcePrompt<Host>[];
  readonly resources: readonly SourceResource<Host>[];
  readonly templates: readonly SourceTemplate<Host>[];
  /** Definitions that are not served, for operators who ask why. */
  readonly withheld?: () => readonly HiddenItem[];
  /**
   * Replaces the text of `state` for a caller with a limited view: what is missing that the caller could see. `sees`
   * tells whether a definition passes the caller's view. `isWhole`: no name is hidden from the caller, as far as is
   * known. undefined: nothing is missing.
   */
  readonly lacks?: (sees: (one: Pick<HiddenItem, "kind" | "name">) => boolean, isWhole: boolean) => string | undefined;
  readonly shelf?: PagedResources<Host>;
  /** Whether a list fails if `shelf` fails. Otherwise the list omits the shelf and reports that in `_meta`. */
  readonly required?: boolean;
  /** Called when a stream starts to listen; the returned function is called when the stream ends. */
  interest?(wanted: NotificationFilter, host: Host): () => void;
}

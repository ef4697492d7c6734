// Owns the port to whatever offers tools, prompts and resources: code, storage, a server elsewhere. A source offers and
// answers under its own names; what a caller sees of it, and under which names, is decided by the one who composes sources.
// `Host` is what a request brings along for whoever answers it; this folder does not look at it.

import type { Call } from "./call.ts";
import type { PromptDefinition, ResourceDefinition, TemplateDefinition, ToolDefinition } from "./definition.ts";
import type { Failure } from "./errors.ts";
import type { JsonObject } from "./jsonrpc.ts";
import type { CacheHint, CallOutcome, InvalidArguments } from "./outcome.ts";

/** How well a source knows what it offers. `why` is for operators and clients alike: it has no secrets in it. */
export type SourceState =
  | { readonly kind: "fresh" }
  /** It offers what it knew at `since` (milliseconds since the epoch), because it could not look again. */
  | { readonly kind: "lastGood"; readonly since: number; readonly why: string }
  /** Something that it should offer is missing. */
  | { readonly kind: "degraded"; readonly why: string };

export interface ServedTool<Host> extends ToolDefinition {
  /** As its source calls it; a view may list it under another name. */
  readonly name: string;
  /** A tool that is there only while the tenant or the profile switches this on. */
  readonly only?: "search";
  call(args: JsonObject, call: Call, host: Host): Promise<CallOutcome | InvalidArguments>;
}

export interface ServedPrompt<Host> extends PromptDefinition {
  readonly name: string;
  get(args: Readonly<Record<string, string>>, call: Call, host: Host): Promise<CallOutcome>;
  complete(asked: AskedValue, call: Call, host: Host): Promise<readonly string[] | Failure>;
}

export interface ServedResource<Host> extends ResourceDefinition {
  read(asked: AskedUri, call: Call, host: Host): Promise<CallOutcome>;
}

export interface ServedTemplate<Host> extends TemplateDefinition {
  /** undefined: no URI of this template, or there is no such resource. */
  read(asked: AskedUri, call: Call, host: Host): Promise<CallOutcome | undefined>;
  complete(asked: AskedValue, call: Call, host: Host): Promise<readonly string[] | Failure>;
}

export interface AskedUri {
  /** Normalized. */
  readonly uri: string;
  /** As the client wrote it, and as the contents say it. */
  readonly asked: string;
}

/** One argument of a prompt or variable of a template that is being typed. */
export interface AskedValue {
  readonly name: string;
  readonly value: string;
  /** Those that were chosen before. */
  readonly known: Readonly<Record<string, string>>;
}

/** Resources that are too many to hold in memory. */
export interface Shelf<Host> {
  /** `cursor`: the shelf's own; undefined: from the beginning. A page may be empty and yet not the last. */
  list(page: { readonly cursor: string | undefined; readonly limit: number }, host: Host): Promise<ShelfPage>;
  /** undefined: there is no such resource. */
  read(asked: AskedUri, call: Call, host: Host): Promise<CallOutcome | undefined>;
}

export interface ShelfPage {
  readonly items: readonly ResourceDefinition[];
  readonly next?: string;
}

/** What somebody listens for. */
export interface Interest {
  readonly tools: boolean;
  readonly prompts: boolean;
  readonly resources: boolean;
  /** Normalized. */
  readonly uris: readonly string[];
}

export interface Source<Host> {
  /** 1 to 64 of A-Z, a-z, 0-9, "_", "-": unique among the sources of a tenant, and the same tomorrow. */
  readonly id: string;
  readonly state: SourceState;
  /** Of all that it offers in memory: another list, another digest. */
  readonly digest: string;
  /** How long, and by whom, what it offers may be kept; undefined: as the tenant says. */
  readonly cache?: CacheHint;
  /** What a model should know to use it. */
  readonly instructions?: string;
  readonly tools: readonly ServedTool<Host>[];
  readonly prompts: readonly ServedPrompt<Host>[];
  readonly resources: readonly ServedResource<Host>[];
  readonly templates: readonly ServedTemplate<Host>[];
  readonly shelf?: Shelf<Host>;
  /** Whether a list fails when its shelf does; otherwise the list goes without it, and says so. */
  readonly required?: boolean;
  /** Somebody begins to listen; the function that is returned says that they ended. */
  interest?(wanted: Interest, host: Host): () => void;
}

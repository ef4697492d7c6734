// Definitions in wire form (tools, prompts, resources and templates), with what the protocol needs to know about each.

import type { ParamHeader } from "./headers.ts";
import type { JsonObject } from "./jsonrpc.ts";

export interface ServerInfo {
  readonly name: string;
  readonly version: string;
  readonly title?: string;
  readonly description?: string;
  readonly websiteUrl?: string;
  readonly icons?: readonly JsonObject[];
}

/** The form in which clients get a tool or prompt. */
export type NamedWire = JsonObject & { readonly name: string };

/** A tool or prompt in a view. `wire` has its name in the view, `target` the name in its source. */
export interface ViewItem<T> {
  readonly wire: NamedWire;
  readonly target: T;
}

export interface ToolDefinition {
  readonly wire: NamedWire;
  /**
   * The original JSON of members of `wire`, listed byte for byte if neither the view nor the revision changes them.
   * Parsing and writing would change the order of members and long numbers.
   */
  readonly texts?: ReadonlyMap<string, string> | undefined;
  readonly paramHeaders: readonly ParamHeader[];
  /** Set if a client that lost its connection can reconnect for the result, in revisions that can resume. */
  readonly resumable?: Resumable | undefined;
  /** Whether a call whose run was lost may run again. Otherwise such a call ends with an error that says so. */
  readonly repeatable: boolean;
}

/**
 * How the stream of a resumable call behaves.
 * https://modelcontextprotocol.io/specification/2025-11-25/basic/transports
 */
export interface Resumable {
  /** Milliseconds until the server closes the connection and the client reconnects, for version 2025-11-25 or later. */
  readonly closeAfterMs: number;
  /** Milliseconds that the client should wait before reconnecting, at most 60000. */
  readonly retryMs: number;
}

export interface PromptDefinition {
  readonly wire: NamedWire;
}

export interface ResourceDefinition {
  /** In the normal form of `parseUri`. */
  readonly uri: string;
  readonly wire: JsonObject;
}

export interface TemplateDefinition {
  readonly wire: JsonObject & { readonly uriTemplate: string };
}

/** Named as the member of the list's result. */
export type ListedKind = "tools" | "prompts" | "resources" | "resourceTemplates";

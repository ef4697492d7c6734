// Owns what can be listed: tools, prompts, resources and templates in wire form, with what the protocol must know of
// each. Refuses to say where one comes from, and how it is called.

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

export interface ToolDefinition {
  readonly wire: JsonObject & { readonly name: string };
  /**
   * The JSON of members of `wire` as somebody else wrote it, listed byte for byte where the view and the dialect change
   * nothing about them: parsing and writing would change the order of members and long numbers.
   */
  readonly texts?: ReadonlyMap<string, string> | undefined;
  readonly paramHeaders: readonly ParamHeader[];
  /** Set when a client that lost its connection can come back for the result, in revisions that can resume. */
  readonly resumable?: Resumable | undefined;
  /** Whether a call whose run was lost may run again; otherwise such a call ends with an error that says so. */
  readonly repeatable: boolean;
}

/**
 * How the stream of a resumable call behaves.
 * https://modelcontextprotocol.io/specification/2025-11-25/basic/transports
 */
export interface Resumable {
  /** Milliseconds until the server closes the connection for the client to come back; only from 2025-11-25 on. */
  readonly closeAfterMs: number;
  /** Milliseconds that the client shall wait before it comes back. */
  readonly retryMs: number;
}

export interface PromptDefinition {
  readonly wire: JsonObject & { readonly name: string };
}

export interface ResourceDefinition {
  /** In the normal form of `parseUri`. */
  readonly uri: string;
  readonly wire: JsonObject;
}

export interface TemplateDefinition {
  readonly wire: JsonObject & { readonly uriTemplate: string };
}

/** What is listed, as the member of a list's result is called. */
export type ListedKind = "tools" | "prompts" | "resources" | "resourceTemplates";

// Content blocks that an author may return. Every member is typed, so that the editor reports a wrong one.
// https://modelcontextprotocol.io/specification/2026-07-28/server/tools#tool-result

import type { JsonObject } from "../protocol/jsonrpc.ts";

/** Members that every block may have. */
export interface BlockBase {
  readonly annotations?: BlockAnnotations | undefined;
  readonly _meta?: JsonObject | undefined;
}

export interface BlockAnnotations {
  readonly audience?: readonly ("user" | "assistant")[] | undefined;
  /** From 0 (optional) to 1 (most important). */
  readonly priority?: number | undefined;
  /** ISO 8601. */
  readonly lastModified?: string | undefined;
}

export interface TextBlock extends BlockBase {
  readonly type: "text";
  readonly text: string;
}

export interface ImageBlock extends BlockBase {
  readonly type: "image";
  /** Base64 text, or bytes, which are encoded for you. */
  readonly data: string | Uint8Array;
  readonly mimeType: string;
}

export interface AudioBlock extends BlockBase {
  readonly type: "audio";
  /** Base64 text, or bytes, which are encoded for you. */
  readonly data: string | Uint8Array;
  readonly mimeType: string;
}

export interface ResourceLinkBlock extends BlockBase {
  readonly type: "resource_link";
  readonly uri: string;
  readonly name: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly mimeType?: string | undefined;
  /** Bytes. */
  readonly size?: number | undefined;
  readonly icons?: readonly JsonObject[] | undefined;
}

export interface EmbeddedResourceBlock extends BlockBase {
  readonly type: "resource";
  readonly resource: EmbeddedResource;
}

/** A resource with `text`, or with `blob`: Base64 text, or bytes, which are encoded for you. */
export interface EmbeddedResource {
  readonly uri: string;
  readonly mimeType?: string | undefined;
  readonly text?: string | undefined;
  readonly blob?: string | Uint8Array | undefined;
  readonly _meta?: JsonObject | undefined;
}

export type ContentBlock = TextBlock | ImageBlock | AudioBlock | ResourceLinkBlock | EmbeddedResourceBlock;

/** A string becomes one text block. */
export type ToolContent = string | ContentBlock | readonly ContentBlock[];

// Owns the content blocks that an author may return, member by member, so that a wrong one is a mistake where it is typed.
// https://modelcontextprotocol.io/specification/2026-07-28/server/tools#tool-result

import type { JsonObject } from "../protocol/jsonrpc.ts";

/** What every block may say of itself. */
export interface BlockBase {
  readonly annotations?: BlockAnnotations | undefined;
  readonly _meta?: JsonObject | undefined;
}

export interface BlockAnnotations {
  readonly audience?: readonly ("user" | "assistant")[] | undefined;
  /** 0 to 1. */
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
  /** Base64, or bytes that are written so. */
  readonly data: string | Uint8Array;
  readonly mimeType: string;
}

export interface AudioBlock extends BlockBase {
  readonly type: "audio";
  /** Base64, or bytes that are written so. */
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

/** `text`, or `blob`: Base64, or bytes that are written so. */
export interface EmbeddedResource {
  readonly uri: string;
  readonly mimeType?: string | undefined;
  readonly text?: string | undefined;
  readonly blob?: string | Uint8Array | undefined;
  readonly _meta?: JsonObject | undefined;
}

export type ContentBlock = TextBlock | ImageBlock | AudioBlock | ResourceLinkBlock | EmbeddedResourceBlock;

/** A text is one block of it. */
export type ToolContent = string | ContentBlock | readonly ContentBlock[];

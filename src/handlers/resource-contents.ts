// Converts what `read` returns (text, bytes in any form of the platform, one or several contents) into a result. A
// stream is read up to the limit of a response.

import { toBase64 } from "../auth/seal.ts";
import { readBytes, type Bytes } from "./read-bytes.ts";
import type { JsonObject } from "../protocol/jsonrpc.ts";
import { omitUndefined } from "../protocol/members.ts";

/** One content of a resource. `uri` defaults to the requested URI, `mimeType` to the declared one. */
export type ResourceContent = {
  readonly uri?: string;
  readonly mimeType?: string;
  readonly _meta?: JsonObject;
} & ({ readonly text: string; readonly blob?: never } | { readonly blob: Bytes; readonly text?: never });

export type ReadReturn = string | Bytes | ResourceContent | readonly ResourceContent[];

export interface ReadContext {
  /** The URI as the client wrote it. */
  readonly uri: string;
  readonly mimeType: string | undefined;
  /** Bytes. */
  readonly maxBytes: number;
  readonly signal: () => AbortSignal;
}

/** The result of resources/read. Rejects if the content is too large or cannot be read. */
export async function toReadResult(returned: ReadReturn, context: ReadContext): Promise<JsonObject> {
  if (typeof returned === "string" || returned instanceof Uint8Array) {
    return resourceContents(context.uri, context.mimeType, returned);
  }
  const parts = (Array.isArray(returned) ? returned : [returned]) as readonly (ResourceContent | Bytes)[];
  return encodeParts(parts, context);
}

/** The result of resources/read for one body; `uri` is as the client wrote it. */
export function resourceContents(uri: string, mimeType: string | undefined, body: string | Uint8Array): JsonObject {
  const content = typeof body === "string" ? { text: body } : { blob: toBase64(body) };
  return { contents: [omitUndefined({ uri, mimeType, ...content })] };
}

async function encodeParts(parts: readonly (ResourceContent | Bytes)[], context: ReadContext): Promise<JsonObject> {
  const contents: JsonObject[] = [];
  let { maxBytes: remainingBytes } = context;
  for (const part of parts) {
    if (Object(part) !== part) throw new TypeError("read must return text, bytes, { text } or { blob }");
    const { blob, text, uri = context.uri, _meta, mimeType = blobTypeOf(part) ?? context.mimeType } = toContent(part);
    const bytes = blob && (await readBytes(blob, remainingBytes, context.signal));
    remainingBytes -= bytes?.byteLength ?? 0;
    contents.push(omitUndefined({ uri, mimeType, _meta, text, blob: bytes && toBase64(bytes) }));
  }
  return { contents };
}

function toContent(part: ResourceContent | Bytes): ResourceContent {
  return "blob" in part || ("text" in part && typeof part.text === "string") ? part : { blob: part };
}

/** The `Blob`'s own type. */
function blobTypeOf(part: ResourceContent | Bytes): string | undefined {
  const body = "blob" in part ? part.blob : part;
  return body instanceof Blob && body.type !== "" ? body.type : undefined;
}

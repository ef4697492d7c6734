// Owns reading a request body once, within limits of type, size and depth, before anything looks at what it says.

import { failure, type Failure } from "../protocol/errors.ts";

export const DEFAULT_MAX_BODY_BYTES = 4 * 1024 * 1024;
const MAX_DEPTH = 128;
/** A shorter text cannot nest deep enough to hurt. */
const SHALLOW_CHARACTERS = 2048;

export function isJsonType(contentType: string | null): boolean {
  if (contentType === null) return false;
  const end = contentType.indexOf(";");
  const type = end < 0 ? contentType : contentType.slice(0, end);
  return type.trim().toLowerCase() === "application/json";
}

export interface Accepted {
  readonly json: boolean;
  readonly stream: boolean;
}

/** A missing header accepts everything and is answered with JSON, as is a bare wildcard. */
export function parseAccept(accept: string | null): Accepted {
  if (accept === null || accept === "") return { json: true, stream: false };
  let json = false;
  let stream = false;
  for (const range of accept.split(",")) {
    const [type = "", ...parameters] = range.split(";").map((part) => part.trim().toLowerCase());
    if (parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter))) continue;
    if (type === "application/json" || type === "application/*" || type === "*/*") json = true;
    if (type === "text/event-stream" || type === "text/*") stream = true;
  }
  return { json, stream };
}

export interface ReadBody {
  readonly text: string;
  readonly bytes: number;
}

/** A body that is no UTF-8 is no JSON: replacing what cannot be read would store something else than was sent. */
export async function readBody(request: Request, maxBytes: number): Promise<ReadBody | Failure> {
  const length = request.headers.get("content-length");
  if (length !== null && Number(length) > maxBytes) return failure("tooLarge");
  if (request.body === null) return { text: "", bytes: 0 };
  const bytes = length === null ? await readStream(request.body, maxBytes) : await request.arrayBuffer();
  if (!("byteLength" in bytes)) return bytes;
  try {
    return { text: utf8.decode(bytes), bytes: bytes.byteLength };
  } catch {
    return failure("parseError");
  }
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });

async function readStream(body: ReadableStream<Uint8Array>, maxBytes: number): Promise<Uint8Array | Failure> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.byteLength;
    if (size > maxBytes) return failure("tooLarge");
    chunks.push(chunk);
  }
  const bytes = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.byteLength;
  }
  return bytes;
}

export interface ParsedBody {
  readonly text: string;
  readonly value: unknown;
}

export function parseJson(text: string): ParsedBody | Failure {
  if (text.length > SHALLOW_CHARACTERS && tooDeep(text)) {
    return failure("invalidRequest", `Invalid Request: nested deeper than ${MAX_DEPTH} levels`);
  }
  try {
    return { text, value: JSON.parse(text) as unknown };
  } catch {
    return failure("parseError");
  }
}

function tooDeep(text: string): boolean {
  let depth = 0;
  let inString = false;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (inString) {
      if (code === 0x5c) at += 1;
      else if (code === 0x22) inString = false;
    } else if (code === 0x22) inString = true;
    else if (code === 0x7b || code === 0x5b) {
      depth += 1;
      if (depth > MAX_DEPTH) return true;
    } else if (code === 0x7d || code === 0x5d) depth -= 1;
  }
  return false;
}

// Reads the body of a resource once, within its limit and the memory that an isolate can spare. Text is checked to be
// UTF-8 before anything reaches KV.

import { RequestBody, UPLOAD_MIN_RATE } from "../streams/request-body.ts";
import { throwBodyError, invalidFields, ProblemError, unreadBodyProblem } from "./problem.ts";

export interface Upload {
  readonly bytes: Uint8Array;
  /** Must be called once the bytes are no longer needed. */
  readonly release: () => void;
}

export async function readUpload(request: Request, maxBytes: number): Promise<Upload> {
  const body = new RequestBody(request, UPLOAD_MIN_RATE);
  const state = await body.read(maxBytes).catch(throwBodyError);
  if (state !== "whole") throw unreadBodyProblem(state, tooLarge(maxBytes));
  const release = () => {
    body.release();
  };
  return { bytes: body.bytes, release };
}

function tooLarge(maxBytes: number): ProblemError {
  return new ProblemError("too-large", { errors: [{ field: "body", rule: `at most ${maxBytes} bytes` }] });
}

const MEDIA_TYPE = /^[a-z0-9!#$&^_.+-]+\/[a-z0-9!#$&^_.+-]+(?:\s*;\s*[a-z0-9_-]+=(?:[^\s;"]+|"[^"]*"))*$/i;
const TEXT_TYPE =
  /^(?:text\/.*|application\/(?:json|xml|javascript|ecmascript|yaml|toml|sql|graphql|x-ndjson|.*\+(?:json|xml|yaml))|image\/svg\+xml)$/;
const BINARY_TYPE = /^(?:image|audio|video|font|model)\/|^application\/(?:octet-stream|pdf|zip|gzip|wasm)$/;

export function mediaTypeOf(request: Request): string {
  const type = request.headers.get("content-type")?.trim() ?? "application/octet-stream";
  if (type.length > 200 || !MEDIA_TYPE.test(type)) throw invalidFields(["Content-Type", "a media type, type/subtype"]);
  return type;
}

/**
 * `binary`: the writer's choice. If undefined, the media type decides, and if that is inconclusive, the bytes.
 * Throws for text that is not UTF-8.
 */
export function isBinary(mimeType: string, bytes: Uint8Array, binary: boolean | undefined): boolean {
  const [type = "", ...parameters] = mimeType.toLowerCase().split(";");
  const essence = type.trim();
  if (binary ?? (BINARY_TYPE.test(essence) && !TEXT_TYPE.test(essence))) return true;
  const charset = parameters.map((parameter) => parameter.trim()).find((parameter) => parameter.startsWith("charset="));
  const mustBeText = binary === false || TEXT_TYPE.test(essence);
  if (mustBeText && charset !== undefined && !/^charset="?(?:utf-8|us-ascii)"?$/.test(charset)) {
    throw invalidFields(["Content-Type", "text is stored as UTF-8; send it as such"]);
  }
  if (isUtf8(bytes)) return !mustBeText && bytes.includes(0);
  if (mustBeText) throw invalidFields(["body", `${essence} is text, and this is not UTF-8`]);
  return true;
}

const CHUNK_BYTES = 1024 * 1024;

/** Decodes in pieces, so that the whole text is never in memory beside its bytes. */
function isUtf8(bytes: Uint8Array): boolean {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  try {
    for (let at = 0; at < bytes.byteLength; at += CHUNK_BYTES)
      decoder.decode(bytes.subarray(at, at + CHUNK_BYTES), { stream: true });
    decoder.decode();
    return true;
  } catch {
    return false;
  }
}

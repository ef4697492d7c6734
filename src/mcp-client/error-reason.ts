// Extracts the reason from the body of an HTTP error, as one line for people. Understands JSON-RPC errors without an
// id, problem details (RFC 9457), OAuth errors (RFC 6749), FastAPI's `detail` and plain text.

import { isObject } from "../protocol/jsonrpc.ts";

const MAX_LENGTH = 200;
const REASON_MEMBERS = ["error_description", "detail", "message", "msg", "title", "error"] as const;
const MAX_DEPTH = 4;

/** Returns undefined if the body is empty or looks like HTML. */
export function parseErrorReason(body: string): string | undefined {
  const text = body.trim();
  if (text === "" || text.startsWith("<")) return undefined;
  const reason = reasonTextOf(parseJsonOrText(text))
    .replaceAll(/[\s\p{Cc}]+/gu, " ")
    .trim();
  return truncateWords(reason, MAX_LENGTH) || undefined;
}

/** Cuts between words: a secret that is cut in half could no longer be redacted. */
export function truncateWords(text: string, maxLength: number): string {
  return text.length <= maxLength ? text : text.slice(0, maxLength).replace(/\S*$/, "…");
}

function parseJsonOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** `error` is a string in OAuth, and an object with a message in JSON-RPC. FastAPI's `detail` may be a list. */
function reasonTextOf(value: unknown, depth = 0): string {
  if (typeof value === "string") return value;
  if (depth === MAX_DEPTH) return "";
  if (Array.isArray(value)) {
    const texts = value.slice(0, 10).map((one: unknown) => reasonTextOf(one, depth + 1));
    return texts.filter((text) => text !== "").join("; ");
  }
  if (!isObject(value)) return "";
  return (
    REASON_MEMBERS.map((member) => reasonTextOf(value[member], depth + 1)).find((text) => text.trim() !== "") ?? ""
  );
}

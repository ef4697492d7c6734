// The reason in the body of an HTTP error, as one line for people. Bodies are of many makes: JSON-RPC errors without an id,
// problem details (RFC 9457), OAuth errors (RFC 6749), FastAPI's `detail`, plain text.

import { isObject } from "../protocol/jsonrpc.ts";

const LONGEST = 200;
const MEMBERS = ["error_description", "detail", "message", "msg", "title", "error"] as const;
const DEEPEST = 4;

/** Undefined where the body says nothing, or is a page. */
export function reasonIn(body: string): string | undefined {
  const text = body.trim();
  if (text === "" || text.startsWith("<")) return undefined;
  const reason = textIn(parsed(text))
    .replaceAll(/[\s\p{Cc}]+/gu, " ")
    .trim();
  return shortened(reason, LONGEST) || undefined;
}

/** Cut between words: a secret of which only a part is left could not be redacted any more. */
export function shortened(text: string, most: number): string {
  return text.length <= most ? text : text.slice(0, most).replace(/\S*$/, "…");
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** `error` is a text in OAuth, and an object with a message in JSON-RPC; FastAPI's `detail` may be a list. */
function textIn(value: unknown, depth = 0): string {
  if (typeof value === "string") return value;
  if (depth === DEEPEST) return "";
  if (Array.isArray(value)) {
    const texts = value.slice(0, 10).map((one: unknown) => textIn(one, depth + 1));
    return texts.filter((text) => text !== "").join("; ");
  }
  if (!isObject(value)) return "";
  return MEMBERS.map((member) => textIn(value[member], depth + 1)).find((text) => text.trim() !== "") ?? "";
}

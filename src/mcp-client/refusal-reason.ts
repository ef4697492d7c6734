// The reason in the body of an HTTP error, as one line for people. Bodies are of many makes: JSON-RPC errors without an id,
// problem details (RFC 9457), OAuth errors (RFC 6749), FastAPI's `detail`, plain text.

import { isObject } from "../protocol/jsonrpc.ts";

const LONGEST = 200;
const MEMBERS = ["error_description", "detail", "message", "title", "error"] as const;

/** Undefined where the body says nothing, or is a page. */
export function reasonIn(body: string): string | undefined {
  const text = body.trim();
  if (text === "" || text.startsWith("<")) return undefined;
  const reason = textIn(parsed(text))
    .replaceAll(/[\s\p{Cc}]+/gu, " ")
    .trim();
  return reason.slice(0, LONGEST) || undefined;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function textIn(value: unknown): string {
  if (typeof value === "string") return value;
  if (!isObject(value)) return "";
  // `error` is a text in OAuth, and an object with a message in JSON-RPC.
  const texts = MEMBERS.map((member) => (isObject(value[member]) ? value[member].message : value[member]));
  return (texts.find((text) => typeof text === "string" && text.trim() !== "") as string | undefined) ?? "";
}

// Prepares a call's arguments for the record: a digest, or the arguments without the members that the tenant names.
// Members that are named like a credential are always removed.

import { isObject } from "../protocol/jsonrpc.ts";
import type { CallAuditDocument } from "../tenants/document/tenant-document.ts";

const REDACTED = "[redacted]";
const CREDENTIAL = /auth|cookie|credential|passw|pwd|secret|session|token|(api|private)_?-?key/i;
/** Arguments with longer JSON are recorded by their digest only. */
export const MAX_ARGUMENT_CHARACTERS = 8_192;
const MAX_DEPTH = 32;

/** `rules`: names of members, and paths with dots. */
export function redactValue(value: unknown, rules: readonly string[] = []): unknown {
  const names = new Set(rules.filter((one) => !one.includes(".")));
  const paths = rules.filter((one) => one.includes(".")).map((one) => one.split("."));
  const walk = (one: unknown, left: readonly (readonly string[])[], depth: number): unknown => {
    if (depth > MAX_DEPTH) return REDACTED;
    if (typeof one !== "object" || one === null) return one;
    const member = (name: string, inner: unknown, isNamed: boolean): unknown => {
      if (isNamed && (names.has(name) || CREDENTIAL.test(name))) return REDACTED;
      const next = left.filter(([step]) => step === "*" || step === name).map((path) => path.slice(1));
      return next.some((path) => path.length === 0) ? REDACTED : walk(inner, next, depth + 1);
    };
    if (Array.isArray(one)) return one.map((inner, at) => member(String(at), inner, false));
    return Object.fromEntries(Object.entries(one).map(([name, inner]) => [name, member(name, inner, true)]));
  };
  return walk(value, paths, 0);
}

/** Sorts members by name, so that equal arguments have equal digests. */
function toSortedJson(value: unknown): string {
  return JSON.stringify(value, (_name, one: unknown) =>
    isObject(one) ? Object.fromEntries(Object.entries(one).toSorted(([a], [b]) => (a < b ? -1 : 1))) : one,
  );
}

export async function sha256Of(text: string): Promise<string> {
  const bytes = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export interface RecordedArguments {
  readonly sha256: string;
  readonly bytes: number;
  readonly redacted?: unknown;
}

export async function toRecordedArguments(
  args: unknown,
  { calls, redact }: Pick<CallAuditDocument, "calls" | "redact">,
): Promise<RecordedArguments> {
  const redacted = redactValue(args ?? {}, redact);
  const text = toSortedJson(redacted);
  // The digest excludes redacted values, too: the digest of a short secret can be reversed by guessing.
  const about = { sha256: await sha256Of(text), bytes: text.length };
  return calls === "redacted" && text.length <= MAX_ARGUMENT_CHARACTERS ? { ...about, redacted } : about;
}

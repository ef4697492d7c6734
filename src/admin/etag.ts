// Conditional headers. https://www.rfc-editor.org/rfc/rfc9110#section-13.1

import { invalidFields, ProblemError } from "./problem.ts";

const ETAG_LIST = /^(?:W\/)?"[\x21\x23-\x7e]*"(?:\s*,\s*(?:W\/)?"[\x21\x23-\x7e]*")*$/;

/**
 * Tags without quotes, "*" for any; null if the header is absent. Weak tags are left out because If-Match compares
 * strongly.
 */
export function ifMatchOf(request: Request): readonly string[] | null {
  const tags = tagsOf(request, "if-match");
  return tags?.filter((tag) => !tag.startsWith("W/")).map((tag) => (tag === "*" ? tag : tag.slice(1, -1))) ?? null;
}

/**
 * Whether a write has `If-None-Match: *`, which demands that nothing exists yet. Throws for any other value of that
 * header.
 */
export function ifAbsentOf(request: Request): boolean {
  const tags = tagsOf(request, "if-none-match");
  if (tags === null) return false;
  if (tags[0] !== "*") throw invalidFields(["If-None-Match", "must be * for a write"]);
  return true;
}

/** Whether the client has this version already, by its If-None-Match. */
export function matchesIfNoneMatch(request: Request, etag: string): boolean {
  const tags = tagsOf(request, "if-none-match");
  return tags?.some((tag) => tag === "*" || tag.replace(/^W\//, "") === quoteEtag(etag)) ?? false;
}

export function quoteEtag(tag: string | number): string {
  return `"${tag}"`;
}

/** The error for a write whose condition does not hold. `current`: the tag that exists now; null: nothing does. */
export function preconditionFailed(current: string | number | null): ProblemError {
  const detail = current === null ? "It does not exist" : `The current ETag is ${quoteEtag(current)}`;
  return new ProblemError("precondition-failed", {
    detail,
    ...(current === null ? {} : { headers: { etag: quoteEtag(current) } }),
  });
}

function tagsOf(request: Request, header: string): readonly string[] | null {
  const text = request.headers.get(header)?.trim();
  if (text === undefined) return null;
  if (text === "*") return ["*"];
  if (!ETAG_LIST.test(text))
    throw invalidFields([header === "if-match" ? "If-Match" : "If-None-Match", "must be * or quoted entity tags"]);
  return text.split(",").map((tag) => tag.trim());
}

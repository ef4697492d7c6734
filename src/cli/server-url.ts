// Owns how a server is named: origin and path, without a slash at the end. Refuses what would be sent or kept with it: a
// password, a query.

import { usageError } from "./exit.ts";

const LOOPBACK = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** Origin and path, without that of the admin API, which is added; without a scheme it is https, or http on this machine. */
export function parseServerUrl(text: string): string {
  const scheme = /^(?:localhost|127\.0\.0\.1|\[::1\])(?:[:/]|$)/i.test(text) ? "http" : "https";
  const full = /^[a-z]+:\/\//i.test(text) ? text : `${scheme}://${text}`;
  if (!/^https?:/i.test(full) || !URL.canParse(full)) throw usageError(`--url: ${text} is not an http or https URL`);
  const url = new URL(full);
  if (url.username !== "" || url.password !== "") throw usageError("--url: must not hold a user name or password");
  if (url.search !== "" || url.hash !== "") throw usageError("--url: must not have a query or fragment");
  return url.origin + url.pathname.replace(/(?:\/admin\/v1)?\/*$/, "");
}

export function isLoopback(url: string): boolean {
  return LOOPBACK.has(new URL(url).hostname);
}

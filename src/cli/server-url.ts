// Parses server URLs: origin and path, without a trailing slash. A password or a query is an error, because the URL
// is stored and sent.

import { usageError } from "./exit.ts";

const LOOPBACK = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** Strips the path of the admin API. Without a scheme the URL gets https, or http on this machine. */
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

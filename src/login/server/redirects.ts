// Owns which redirect URIs a client may have, and whether one that a request names is among them: to the character, but
// for the port of the person's own machine. Refuses whatever a browser would run, or read otherwise than we do.

import type { LoginClient } from "./login-records.ts";

const LONGEST = 2000;
/** Programs listen wherever there is room: https://datatracker.ietf.org/doc/html/rfc8252#section-7.3 */
const LOOPBACK = /^(https?:\/\/(?:localhost|127\.0\.0\.1|\[::1\]))(?::\d{1,5})?(\/.*)?$/;
/** No program's own: what browsers and systems do something with, whoever is asked. */
const TAKEN =
  /^(?:about|blob|chrome|data|file|filesystem|ftps?|https?|intent|jar|javascript|mailto|ms-.*|search-ms|sms|tel|vbscript|view-source|wss?):/;

/** Whether a client may have it. Written as a browser writes it, so that nobody can take it for another one. */
export function isRedirect(text: unknown): text is string {
  if (typeof text !== "string" || text.length > LONGEST || text.includes("#") || !URL.canParse(text)) return false;
  const { href, protocol, username, password } = new URL(text);
  if ((href !== text && href !== `${text}/`) || username !== "" || password !== "") return false;
  // A program's own scheme: https://datatracker.ietf.org/doc/html/rfc8252#section-7.1
  return protocol === "https:" || isLoopbackRedirect(text) || (/^[^:]+:\/./.test(text) && !TAKEN.test(text));
}

/** Whether any program on the person's machine could be meant. */
export function isLoopbackRedirect(redirect: string): boolean {
  return LOOPBACK.test(redirect);
}

export function mayRedirect({ redirects }: Pick<LoginClient, "redirects">, redirect: string): boolean {
  const anyPort = withoutPort(redirect);
  return redirects.some((one) => one === redirect || (anyPort !== undefined && withoutPort(one) === anyPort));
}

/** undefined: the port is part of it. */
function withoutPort(redirect: string): string | undefined {
  const [, origin, path = "/"] = LOOPBACK.exec(redirect) ?? [];
  return origin && origin + path;
}

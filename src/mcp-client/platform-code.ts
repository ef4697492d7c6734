// Reads the platform's code from an error of `fetch`, and whether it occurred before anything was sent. Does not parse
// error messages, which are for people and change.

/** Node's codes for a connection that was never made. Workers have no such codes, so there it stays unknown. */
const NEVER_CONNECTED = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "EADDRNOTAVAIL",
  "UND_ERR_CONNECT_TIMEOUT",
  "ERR_TLS_CERT_ALTNAME_INVALID",
]);
/** OpenSSL's codes for an untrusted certificate. Nothing is sent before that check. */
const NOT_TRUSTED = /^(?:CERT_|UNABLE_TO_)|SELF_SIGNED/;
const MAX_CAUSES = 8;

/** The code of the error, or of its first cause that has one. */
export function platformCode(error: unknown): string | undefined {
  let at: unknown = error;
  for (let depth = 0; depth < MAX_CAUSES && at instanceof Error; depth += 1) {
    const { code } = at as { readonly code?: unknown };
    if (typeof code === "string" && code !== "") return code;
    at = at.cause;
  }
  return undefined;
}

export function isNeverConnected(code: string | undefined): code is string {
  return code !== undefined && (NEVER_CONNECTED.has(code) || NOT_TRUSTED.test(code));
}

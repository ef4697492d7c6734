// Owns what can be read out of an error that `fetch` threw: the platform's word for it, and whether it came before
// anything was sent. Refuses to read messages, which are written for people and change.

/** Names that Node has for a connection that never came about. Workers have no such names, so there nobody can know. */
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
/** The names that OpenSSL has for a certificate that is not trusted, before which nothing is sent. */
const NOT_TRUSTED = /^(?:CERT_|UNABLE_TO_)|SELF_SIGNED/;
const MAX_CAUSES = 8;

/** The code of the error, or of the first of its causes that has one. */
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

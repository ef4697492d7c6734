// Codes for why a source cannot be read, or not completely. Programs use the codes; the texts beside them may change.
// docs/gateway.md says what helps with each.

/** Released codes keep their meaning. */
export const CAUSES = [
  "not-read-yet",
  "catalog-unusable",
  "secret-missing",
  "token-missing",
  "credential-refused",
  "no-endpoint",
  "overloaded",
  "server-failed",
  "web-page",
  "request-refused",
  "no-mcp",
  "redirect",
  "unreachable",
  "connection-lost",
  "reading-too-slow",
  "answer-too-slow",
  "list-refused",
  "too-much",
  "service-missing",
  "waiting",
  "uri-listed",
  "uri-stored",
  "uri-prefix",
  "circle",
  "left-out",
] as const;

export type CauseCode = (typeof CAUSES)[number];

/** `name`: the missing secret. */
export interface Cause {
  readonly code: CauseCode;
  readonly name?: string;
}

// Advice for each code of an upstream that cannot be read in full. docs/gateway.md has the same table, and a test
// compares the two.

import type { Cause, CauseCode } from "../../protocol/cause.ts";

export interface UpstreamLocation {
  readonly tenant: string;
  readonly upstream: string;
}

type Hint = string | ((at: UpstreamLocation, name: string) => string);

const refreshCommand = ({ tenant, upstream }: UpstreamLocation) => `tenantry upstream refresh ${tenant} ${upstream}`;

const HINTS: Readonly<Record<CauseCode, Hint>> = {
  "not-read-yet": (at) => `${refreshCommand(at)}, or send the tenant a request`,
  "catalog-unusable": (at) => `another release wrote it: ${refreshCommand(at)}`,
  "secret-missing": (at, name) => `tenantry secret set ${at.tenant} ${name}, then ${refreshCommand(at)}`,
  "token-missing": "check auth in the document, and the log of the token endpoint",
  "credential-refused": (at) => `check the credential in headers or auth; set a new secret, then ${refreshCommand(at)}`,
  "no-endpoint": "check the URL: the URLs of most servers end in /mcp or /sse",
  overloaded: "the gateway tries again later; ask the server's operator for a higher limit",
  "server-failed": "the server failed: see its log",
  "web-page": "the URL leads to a web page: the URLs of most servers end in /mcp or /sse",
  "request-refused": "check the URL and era, or try the server with another client",
  "no-mcp": "check the URL, or try another client to see whether the server has a bug",
  redirect: "use the URL in the header Location, which curl -i shows",
  unreachable: "docs/outbound.md explains the rule; the rule resolution means that the host name was not found",
  "connection-lost": "check that the server runs, and see its log",
  "reading-too-slow": "the server is slow: all lists together must be read within 40 s",
  "answer-too-slow": "the server is slow: raise timeoutMs",
  "list-refused": "the server returned an error: try the server with another client",
  "too-much": "ask the server's operator for a smaller list",
  "service-missing": "check serviceBindings in gateway() and in the document: docs/gateway.md",
  waiting: ({ tenant, upstream }) => `tenantry upstream pending ${tenant} ${upstream}, then approve or reject`,
  "uri-listed": "two upstreams have this URI: choose one with uris",
  "uri-stored": "clients read the tenant's own resource; to offer the upstream's resource, set uris",
  "uri-prefix": "check uris of both upstreams: the longest prefix decides",
  circle: "the upstream leads back to this tenant: remove the upstream, or hide its tools with a profile",
  "left-out": "the server's operator must correct the definitions that tenantry upstream show lists",
};

/** A newer server may send a code that has no advice here. */
type CauseLike = Pick<Cause, "name"> & { readonly code: string };

/** undefined: no advice is known. */
export function upstreamHints(causes: readonly CauseLike[], location: UpstreamLocation): string | undefined {
  const hints = causes.flatMap(({ code, name = "" }) => {
    const hint = Object.hasOwn(HINTS, code) ? HINTS[code as CauseCode] : undefined;
    if (hint === undefined) return [];
    return [typeof hint === "string" ? hint : hint(location, name)];
  });
  return hints.length === 0 ? undefined : [...new Set(hints)].join(". ");
}

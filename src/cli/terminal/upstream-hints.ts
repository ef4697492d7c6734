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
  "not-read-yet": (at) => `${refreshCommand(at)}, or ask the tenant for something`,
  "catalog-unusable": (at) => `another release has written it: ${refreshCommand(at)}`,
  "secret-missing": (at, name) => `tenantry secret set ${at.tenant} ${name}, then ${refreshCommand(at)}`,
  "token-missing": "auth: its tokenUrl, clientId, clientSecret, scope or resource; the log of the token endpoint",
  "credential-refused": (at) =>
    `it wants a credential, in headers or auth; or the one it has is wrong or has ended: set the secret anew, then ${refreshCommand(at)}`,
  "no-endpoint": "the URL is not its endpoint: most servers end in /mcp or /sse",
  overloaded: "it has too much to do, and is asked again when it said: ask its operator for more",
  "server-failed": "the server's own failure: its log",
  "web-page": "the URL leads to a page: most servers end in /mcp or /sse",
  "request-refused": "it takes no MCP there: look at its URL and era, or ask it with another client",
  "no-mcp": "it speaks no MCP there, or has a bug: ask it with another client",
  redirect: "only 307 and 308 within the same origin are followed: write the URL that it leads to, which curl -i shows",
  unreachable: "the rule is in docs/outbound.md. resolution: the name stands for nothing",
  "connection-lost": "nobody listens there, or it broke: the server's log",
  "reading-too-slow": "the server is slow: all of its lists have 40 s together, whatever timeoutMs is",
  "answer-too-slow": "the server is slow: raise timeoutMs",
  "list-refused": "the server's own error: ask it with another client",
  "too-much": "more than a tenant takes: ask the server's operator for a smaller list",
  "service-missing": "serviceBindings of gateway() and of the document: docs/gateway.md",
  waiting: ({ tenant, upstream }) => `tenantry upstream pending ${tenant} ${upstream}, then approve or reject`,
  "uri-listed": "two upstreams have this URI: uris says whose it is",
  "uri-stored": "what the tenant stores is read; uris gives it to the upstream",
  "uri-prefix": "uris of the two upstreams: what begins so is the other's",
  circle: "the upstream leads back here: remove it there or here, or hide it by a profile",
  "left-out": "the server's operator mends the definition; tenantry upstream show names each one",
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

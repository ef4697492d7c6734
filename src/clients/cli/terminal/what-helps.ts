// Owns what helps where an upstream cannot be read, or not wholly: for each reason that a server gives, what a person can do.
// docs/gateway.md shows the same table, and a test holds the two together. Refuses to know how reasons come about.

export interface AtUpstream {
  readonly tenant: string;
  readonly upstream: string;
}

type Help = string | ((at: AtUpstream, named: string) => string);

const refresh = ({ tenant, upstream }: AtUpstream) => `tenantry upstream refresh ${tenant} ${upstream}`;

/** The first that a reason begins with says what helps. */
const HELP: readonly (readonly [reason: RegExp, help: Help])[] = [
  [/^it has not been read yet/, (at) => `${refresh(at)}, or ask the tenant for something`],
  [/^what was read of it cannot be used/, (at) => `another release has written it: ${refresh(at)}`],
  [/^this tenant has no secret (\S+)/, (at, name) => `tenantry secret set ${at.tenant} ${name}, then ${refresh(at)}`],
  [
    /^it has no access token/,
    "auth: its tokenUrl, clientId, clientSecret, scope or resource; the log of the token endpoint",
  ],
  [
    /^the server answered 40[13]\b/,
    (at) =>
      `it wants a credential, in headers or auth; or the one it has is wrong or has ended: set the secret anew, then ${refresh(at)}`,
  ],
  [/^the server answered 40[45]\b/, "the URL is not its endpoint: most servers end in /mcp or /sse"],
  [
    /^the server answered (429|503)\b/,
    "it has too much to do, and is asked again when it said: ask its operator for more",
  ],
  [/^the server answered 5/, "the server's own failure: its log"],
  [/^the server answered 2/, "the URL leads to a page: most servers end in /mcp or /sse"],
  [/^the server answered/, "it takes no MCP there: look at its URL and era, or ask it with another client"],
  [
    /^the server (broke the protocol|does not know the session)|^the (answer ended without|stream broke)|^a (response|message|stream) (is|has)/,
    "it speaks no MCP there, or has a bug: ask it with another client",
  ],
  [
    /^the server sends us on/,
    "only 307 and 308 within the same origin are followed: write the URL that it leads to, which curl -i shows",
  ],
  [
    /^outbound request refused|^the server cannot be reached/,
    "the rule is in docs/outbound.md. resolution: the name stands for nothing",
  ],
  [/^the connection was lost/, "nobody listens there, or it broke: the server's log"],
  [/^it was not read /, "the server is slow: all of its lists have 40 s together, whatever timeoutMs is"],
  [/^(no answer began|the answer paused|the answer was not complete) /, "the server is slow: raise timeoutMs"],
  [/^the server refused to list/, "the server's own error: ask it with another client"],
  [
    /^(it lists more than|its list of|the upstreams of this tenant list) /,
    "more than a tenant takes: ask the server's operator for a smaller list",
  ],
  [
    /^this Worker has no service|^the service \S+ is not granted/,
    "services of gateway() and of the document: docs/gateway.md",
  ],
  [
    /^\d+ definitions? waits? for approval/,
    ({ tenant, upstream }) => `tenantry upstream pending ${tenant} ${upstream}, then approve or reject`,
  ],
  [/^\d+ definitions? (is|are) left out: .* listed it first/, "two upstreams have this URI: uris says whose it is"],
  [
    /^\d+ definitions? (is|are) left out: .* the tenant stores it/,
    "what the tenant stores is read; uris gives it to the upstream",
  ],
  [
    /^\d+ definitions? (is|are) left out: .* has what begins with/,
    "uris of the two upstreams: what begins so is the other's",
  ],
  [
    /^\d+ definitions? (is|are) left out: .* comes through more/,
    "the upstream leads back here: remove it there or here, or hide it by a profile",
  ],
  [
    /^\d+ definitions? (is|are) left out/,
    "the server's operator mends the definition; tenantry upstream show names each one",
  ],
];

/** undefined: it is a reason that nobody has met yet. */
export function whatHelps(why: string, at: AtUpstream): string | undefined {
  // What a catalog lacks is several reasons in one line.
  const helps = why.split("; ").flatMap((reason) => {
    // Where a state stands before it, as in `last good: the connection was lost`, the rest is the reason.
    const [said = ""] = [reason, reason.replace(/^[a-z ]+: /, "")].filter((text) =>
      HELP.some(([one]) => one.test(text)),
    );
    const [pattern, help = ""] = HELP.find(([one]) => one.test(said)) ?? [];
    if (!pattern) return [];
    return [typeof help === "string" ? help : help(at, pattern.exec(said)?.[1] ?? "")];
  });
  return helps.length === 0 ? undefined : [...new Set(helps)].join(". ");
}

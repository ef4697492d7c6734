// Answers a call that names a definition which its caller does not see, before any of its messages run. An anonymous
// caller is asked to log in, whether or not the definition exists. A signed-in person is told which OAuth scope would
// show it. A caller with a key gets no hint.

import type { OAuthPrincipal, Principal } from "../auth/principal.ts";
import { createView, type View } from "../catalog/view.ts";
import type { AuthorizedContext } from "../deployment/deployment.ts";
import { failure, type Failure } from "../protocol/errors.ts";
import { isObject, type JsonObject } from "../protocol/jsonrpc.ts";
import { isFailure } from "../protocol/methods/params.ts";
import { parseUri } from "../protocol/uri.ts";
import { issuersOf, acceptsTokens } from "../tenants/document/tenant-document.ts";
import { isVisible } from "../tenants/document/visibility.ts";
import { requestedEndpointUrls, unauthorizedFailure } from "./bearer-auth.ts";
import { oauthScopesOf } from "./oauth-scopes.ts";
import { createChallenge } from "./protected-resource.ts";

/** Most messages of a request that are checked: the most that a batch may have. The body is not validated yet. */
const MAX_MESSAGES = 100;

/** A caller with a key, or the Worker itself, would see nothing more by signing in. */
const SIGN_IN_KINDS: ReadonlySet<Principal["kind"]> = new Set(["anonymous", "oauth"]);

export function getScopeChallenge(callerContext: AuthorizedContext, body: unknown): Failure | undefined {
  const { principal, document } = callerContext;
  if (!SIGN_IN_KINDS.has(principal.kind) || !acceptsTokens(document.mode)) return undefined;
  const messages: readonly unknown[] = Array.isArray(body) ? body.slice(0, MAX_MESSAGES) : [body];
  for (const message of messages) {
    const item = parseNamedItem(message);
    if (item === undefined || isVisibleIn(callerContext.view, item)) continue;
    const challenge =
      principal.kind === "anonymous" ? loginChallenge(callerContext, item) : stepUpChallenge(callerContext, item);
    if (challenge) return challenge;
  }
  return undefined;
}

interface NamedItem {
  readonly kind: "tools" | "prompts" | "resources";
  readonly name: string;
}

const KINDS: Readonly<Record<string, NamedItem["kind"]>> = {
  "tools/call": "tools",
  "prompts/get": "prompts",
  "resources/read": "resources",
};

function parseNamedItem(message: unknown): NamedItem | undefined {
  if (!isObject(message) || typeof message.method !== "string" || !isObject(message.params)) return undefined;
  const kind = Object.hasOwn(KINDS, message.method) ? KINDS[message.method] : undefined;
  return kind && parseItemName(kind, message.params);
}

/** Returns undefined for an invalid name, which is rejected later like everywhere else. */
function parseItemName(kind: NamedItem["kind"], { name, uri }: JsonObject): NamedItem | undefined {
  if (kind !== "resources") return typeof name === "string" ? { kind, name } : undefined;
  const parsed = parseUri(String(uri));
  // A user interface has other names at its upstream, and belongs to a tool.
  return "uri" in parsed && !parsed.uri.startsWith("ui:") ? { kind, name: parsed.uri } : undefined;
}

function isVisibleIn(view: View, { kind, name }: NamedItem): boolean {
  if (kind === "resources") return view.sees(name);
  return (kind === "tools" ? view.tool(name, Date.now()) : view.prompt(name, Date.now())) !== undefined;
}

/**
 * No challenge if an unavailable source may have the definition and show it to everyone: a login does not help in an
 * outage.
 */
function loginChallenge(callerContext: AuthorizedContext, { kind, name }: NamedItem): Failure | undefined {
  const { view, document, principal, context } = callerContext;
  const { profile } = context.target;
  const accessFilter = {
    profile: profile === null ? undefined : document.profiles?.[profile],
    scopes: principal.scopes?.flatMap((scope) => document.scopes?.[scope] ?? []),
  };
  return view.unavailable.length > 0 && isVisible(document, accessFilter, kind, name)
    ? undefined
    : unauthorizedFailure(callerContext);
}

/** The first scope that shows the definition; undefined if no scope that a client can request does. */
function stepUpChallenge(callerContext: AuthorizedContext, item: NamedItem): Failure | undefined {
  const { document, principal, context } = callerContext;
  const { issuer: name, granted, scopes } = principal as OAuthPrincipal;
  const issuer = issuersOf(document).find(({ issuer: one }) => one === name);
  // A token of our own has no OAuth scopes of an issuer, and cannot get what its person excluded. The stored rest of a
  // long result is a resource that no view shows.
  if (!issuer?.scopes || !granted || !scopes || item.kind === "resources") return undefined;
  const { values } = issuer.scopes;
  const needed = oauthScopesOf(issuer)
    .filter((one) => !granted.includes(one))
    .find((one) => isVisibleIn(viewWithScopes(callerContext, [...new Set([...scopes, ...(values[one] ?? [])])]), item));
  if (needed === undefined) return undefined;
  const why = `this needs the scope ${needed}`;
  const challenge = createChallenge(requestedEndpointUrls(context), [...granted, needed], {
    error: "insufficient_scope",
    why,
  });
  return { ...failure("forbidden", `Permission denied: ${why}`), challenge };
}

const MAX_VIEWS = 100;

/** Cached per policy version, because a rejected caller may ask repeatedly. */
function viewWithScopes({ view, document, cachedPolicy, context }: AuthorizedContext, scopes: readonly string[]): View {
  const { memo, policy, version } = cachedPolicy;
  const { tenantResult: known, profile } = context.target;
  if (isFailure(known)) return view;
  const { deployment } = context;
  const views = (memo.get(getScopeChallenge) as Views | undefined) ?? new Map<string, View>();
  memo.set(getScopeChallenge, views);
  const { hidden } = view;
  const key = `${deployment.path} ${hidden?.key ?? ""} ${profile ?? ""} ${scopes.join(" ")}`;
  const cached = views.get(key);
  if (cached && cached.sources === view.sources) return cached;
  const tenantCatalog = {
    catalog: deployment.catalog,
    tenant: known,
    policy,
    version,
    document,
    sources: view.sources,
  };
  const created = createView(tenantCatalog, { profile, scopes, hidden });
  if (views.size >= MAX_VIEWS) views.clear();
  views.set(key, created);
  return created;
}

type Views = Map<string, View>;

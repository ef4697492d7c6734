// Owns what is answered to a call that names what its caller does not see, before anything of what came in runs: nobody is
// asked to log in, whether or not there is such a thing; a person is told which OAuth scope would show it. Keys are told nothing.

import type { Person, Principal } from "../auth/principal.ts";
import { viewOf, type View } from "../content/serve/view.ts";
import type { AdmittedGround } from "../deployment/deployment.ts";
import { failure, type Failure } from "../protocol/errors.ts";
import { isObject, type JsonObject } from "../protocol/jsonrpc.ts";
import { isFailure } from "../protocol/methods/params.ts";
import { parseUri } from "../protocol/uri.ts";
import { issuersOf, takesTokens } from "../tenants/document/tenant-document.ts";
import { isVisible } from "../tenants/document/visibility.ts";
import { resourceAsked, wanted } from "./admit-token.ts";
import { oauthScopesOf } from "./oauth-scopes.ts";
import { challengeAt } from "./protected-resource.ts";

/** Of what came in, which may be anything; as many messages as a batch may have are looked at. */
const MOST_MESSAGES = 100;

/** Whoever comes with a key, or is the Worker itself, would find nothing more by signing in. */
const LOGS_IN: ReadonlySet<Principal["kind"]> = new Set(["anonymous", "oauth"]);

export function askedBeyond(ground: AdmittedGround, body: unknown): Failure | undefined {
  const { principal, document } = ground;
  if (!LOGS_IN.has(principal.kind) || !takesTokens(document.mode)) return undefined;
  const messages: readonly unknown[] = Array.isArray(body) ? body.slice(0, MOST_MESSAGES) : [body];
  for (const message of messages) {
    const named = namedIn(message);
    if (named === undefined || sees(ground.view, named)) continue;
    const asked = principal.kind === "anonymous" ? loginFor(ground, named) : stepUpFor(ground, named);
    if (asked) return asked;
  }
  return undefined;
}

interface Named {
  readonly kind: "tools" | "prompts" | "resources";
  readonly name: string;
}

const KINDS: Readonly<Record<string, Named["kind"]>> = {
  "tools/call": "tools",
  "prompts/get": "prompts",
  "resources/read": "resources",
};

function namedIn(message: unknown): Named | undefined {
  if (!isObject(message) || typeof message.method !== "string" || !isObject(message.params)) return undefined;
  const kind = Object.hasOwn(KINDS, message.method) ? KINDS[message.method] : undefined;
  return kind && nameIn(kind, message.params);
}

/** undefined: what it is no name of is refused as everywhere. */
function nameIn(kind: Named["kind"], { name, uri }: JsonObject): Named | undefined {
  if (kind !== "resources") return typeof name === "string" ? { kind, name } : undefined;
  const parsed = parseUri(String(uri));
  // A user interface has other names at its upstream, and belongs to a tool.
  return "uri" in parsed && !parsed.uri.startsWith("ui:") ? { kind, name: parsed.uri } : undefined;
}

function sees(view: View, { kind, name }: Named): boolean {
  if (kind === "resources") return view.sees(name);
  return (kind === "tools" ? view.tool(name, Date.now()) : view.prompt(name, Date.now())) !== undefined;
}

/** Not where a source that could not be read may have it, and show it to everybody: nobody logs in for an outage. */
function loginFor(ground: AdmittedGround, { kind, name }: Named): Failure | undefined {
  const { view, document, principal, visit } = ground;
  const { profile } = visit.knock;
  const eyes = {
    profile: profile === null ? undefined : document.profiles?.[profile],
    scopes: principal.scopes?.flatMap((scope) => document.scopes?.[scope] ?? []),
  };
  return view.missing.length > 0 && isVisible(document, eyes, kind, name) ? undefined : wanted(ground);
}

/** The first scope that shows it; undefined: none that a client can ask for does. */
function stepUpFor(ground: AdmittedGround, named: Named): Failure | undefined {
  const { document, principal, visit } = ground;
  const { issuer: name, granted, scopes } = principal as Person;
  const issuer = issuersOf(document).find(({ issuer: one }) => one === name);
  // A token of our own has no scopes of theirs, and what its person left out is not to be had. The rest of a long result is a
  // resource that no view shows.
  if (!issuer?.scopes || !granted || !scopes || named.kind === "resources") return undefined;
  const { values } = issuer.scopes;
  const needed = oauthScopesOf(issuer)
    .filter((one) => !granted.includes(one))
    .find((one) => sees(viewWith(ground, [...new Set([...scopes, ...(values[one] ?? [])])]), named));
  if (needed === undefined) return undefined;
  const why = `this needs the scope ${needed}`;
  const challenge = challengeAt(resourceAsked(visit), [...granted, needed], { error: "insufficient_scope", why });
  return { ...failure("forbidden", `Permission denied: ${why}`), challenge };
}

const MOST_VIEWS = 100;

/** Computed once for each version of the policy: whoever is refused may ask again. */
function viewWith({ view, document, snapshot, visit }: AdmittedGround, scopes: readonly string[]): View {
  const { derived, policy, version } = snapshot;
  const { known, profile } = visit.knock;
  if (isFailure(known)) return view;
  const { deployment } = visit;
  const views = (derived.get(askedBeyond) as Views | undefined) ?? new Map<string, View>();
  derived.set(askedBeyond, views);
  const { hidden } = view;
  const key = `${deployment.path} ${hidden?.key ?? ""} ${profile ?? ""} ${scopes.join(" ")}`;
  const had = views.get(key);
  if (had && had.sources === view.sources) return had;
  const offer = { catalog: deployment.catalog, tenant: known, policy, version, document, sources: view.sources };
  const made = viewOf(offer, { profile, scopes, hidden });
  if (views.size >= MOST_VIEWS) views.clear();
  views.set(key, made);
  return made;
}

type Views = Map<string, View>;

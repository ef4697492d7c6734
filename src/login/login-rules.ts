// Owns what a document's `auth` must be beyond its shape: issuers that can be read, and scopes that are there. Pure.

import type { BrokenMember } from "../deployment/deployment.ts";
import { isObject, type JsonObject } from "../protocol/jsonrpc.ts";
import { meant } from "../protocol/nearest.ts";
import {
  takesTokens,
  type AuthDocument,
  type IssuerDocument,
  type LoginDocument,
  type Mode,
  type TenantDocument,
} from "../tenants/document/tenant-document.ts";
import { brokenIdentity } from "./identity/identity-ways.ts";
import { issuerRule } from "./issuers/issuer-rule.ts";
import { oauthScopesOf } from "./oauth-scopes.ts";
import { brokenPins } from "./server/find-client.ts";
import { brokenSignIn } from "./sign-in/sign-in-rules.ts";

/** `allow`: what the Worker's operator allows beside the public internet; undefined: nobody knows yet. */
export function brokenAuth(document: TenantDocument, allow: string | undefined): BrokenMember[] {
  const { auth, mode, scopes = {} } = document;
  // A document that was written to the admin API has its shape; one in code may have an author whose editor did not look.
  const misshapen = auth && allow === undefined ? shapeRules(document) : [];
  if (misshapen.length > 0) return misshapen;
  const { issuers = [], login } = auth ?? {};
  if (issuers.length === 0 && !login) {
    const rule = `is needed in the mode ${mode}: issuers, or how people log in, such as { login: { via: "key" } }`;
    return takesTokens(mode) ? [{ field: "auth", rule }] : [];
  }
  const names = issuers.map(({ issuer }) => issuer);
  const known = Object.keys(scopes);
  const broken = issuers.flatMap((one, at) => {
    const field = `auth.issuers.${at}`;
    const rule = names.indexOf(one.issuer) < at ? "stands there twice" : issuerRule(one.issuer, allow);
    return [
      ...(rule === undefined ? [] : [{ field: `${field}.issuer`, rule }]),
      ...scopeRules(one, known).map((unknown) => ({ field: `${field}.scopes.values`, rule: unknown })),
      ...firstRules(one).map((first) => ({ field: `${field}.scopes.first`, rule: first })),
    ];
  });
  broken.push(...anonymousRules(auth ?? {}, mode, known), ...brokenIdentity(document, allow));
  if (!login) return broken;
  const unknown = scopeRules(login, known).map((rule) => ({ field: "auth.login.scopes.values", rule }));
  return [...broken, ...brokenSignIn(login, allow), ...brokenPins(login, allow), ...unknown];
}

const MODES: readonly unknown[] = ["open", "key", "oauth", "key+oauth", "mixed"] satisfies readonly Mode[];
const isText = (value: unknown) => typeof value === "string";
const isTexts = (value: unknown) => Array.isArray(value) && value.every(isText);

function shapeRules({ auth, mode = "open" }: TenantDocument): BrokenMember[] {
  const { issuers, anonymous, login } = { ...(auth as unknown as JsonObject) };
  const all: readonly unknown[] = Array.isArray(issuers) ? issuers : [];
  const isWhole = issuers === undefined ? login !== undefined : all.length > 0 && all.every(isIssuer);
  const broken = (isRight: boolean, field: string, rule: string) => (isRight ? [] : [{ field, rule }]);
  return [
    ...broken(MODES.includes(mode), "mode", `is one of ${MODES.join(", ")}`),
    ...broken(isWhole, "auth.issuers", ISSUERS_RULE),
    ...broken(
      !anonymous || (isObject(anonymous) && isTexts(anonymous.scopes)),
      "auth.anonymous",
      "is { scopes: [...] }",
    ),
  ];
}

const ISSUERS_RULE =
  "are objects with issuer, and perhaps audience, claims (lists) and scopes: { claim, values: { VALUE: [SCOPE] } }";

function isIssuer(one: unknown): boolean {
  if (!isObject(one) || !isText(one.issuer)) return false;
  const { audience = [], claims = [], scopes } = one;
  return isTexts(audience) && isTexts(claims) && (scopes === undefined || isScopes(scopes));
}

function isScopes(scopes: unknown): boolean {
  if (!isObject(scopes) || !isText(scopes.claim) || !isObject(scopes.values)) return false;
  return isTexts(scopes.first ?? []) && Object.values(scopes.values).every(isTexts);
}

/** What everybody sees is never left to be guessed. */
function anonymousRules({ anonymous }: AuthDocument, mode: Mode | undefined, known: readonly string[]): BrokenMember[] {
  if (!anonymous) {
    const rule = "is needed in the mode mixed: it names the scopes that need no credential";
    return mode === "mixed" ? [{ field: "auth.anonymous", rule }] : [];
  }
  return unknownIn(anonymous.scopes, known).map((rule) => ({ field: "auth.anonymous.scopes", rule }));
}

function scopeRules({ scopes }: Pick<IssuerDocument | LoginDocument, "scopes">, known: readonly string[]): string[] {
  return unknownIn(Object.values(scopes?.values ?? {}).flat(), known);
}

/** Who mends these asks again. */
const MOST_SAID = 100;
/** With so many names those that are none are compared, to say what was meant: a tenant may write hundreds and thousands. */
const MOST_COMPARED = 500;

function unknownIn(named: readonly string[], known: readonly string[]): string[] {
  const strays = [...new Set(named)].filter((name) => !known.includes(name)).slice(0, MOST_SAID);
  return strays.map((name, at) => {
    const isCompared = at * known.length < MOST_COMPARED;
    return `names no scope "${name}"${isCompared ? meant(name, known) : ""}`;
  });
}

/** What a client asks for has to be what means something when it comes back. */
function firstRules(issuer: IssuerDocument): string[] {
  const known = oauthScopesOf(issuer);
  const strays = (issuer.scopes?.first ?? []).filter((name) => !known.includes(name));
  return strays.map((name) => `"${name}" is none of the values of a claim that holds OAuth scopes, scope or scp`);
}

// Rules for a document's `auth` beyond its schema: valid issuers, and scopes that exist.

import { isObject, type JsonObject } from "../protocol/jsonrpc.ts";
import { didYouMean } from "../protocol/did-you-mean.ts";
import {
  acceptsTokens,
  type AuthDocument,
  type IssuerDocument,
  type LoginDocument,
  type Mode,
  type TenantDocument,
  type FieldRule,
} from "../tenants/document/tenant-document.ts";
import { findBrokenIdentity } from "./identity/identity-settings.ts";
import { issuerRule } from "./issuers/issuer-rule.ts";
import { oauthScopesOf } from "./oauth-scopes.ts";
import { findBrokenClients } from "./server/find-client.ts";
import { findBrokenSignIn } from "./sign-in/sign-in-rules.ts";

/** `allow`: hosts that the Worker's operator allows beside the public internet; undefined if not known yet. */
export function findBrokenAuth(document: TenantDocument, allow: string | undefined): FieldRule[] {
  const { auth, mode, scopes = {} } = document;
  // The admin API validates the shape of a document. A document in code may come from an author without type checks.
  const shapeErrors = auth && allow === undefined ? checkShape(document) : [];
  if (shapeErrors.length > 0) return shapeErrors;
  const { issuers = [], login } = auth ?? {};
  if (issuers.length === 0 && !login) {
    const rule = `is required in the mode ${mode}: set issuers or login, such as { login: { via: "key" } }`;
    return acceptsTokens(mode) ? [{ field: "auth", rule }] : [];
  }
  const names = issuers.map(({ issuer }) => issuer);
  const known = Object.keys(scopes);
  const broken = issuers.flatMap((one, at) => {
    const field = `auth.issuers.${at}`;
    const rule = names.indexOf(one.issuer) < at ? "must not occur twice" : issuerRule(one.issuer, allow);
    return [
      ...(rule === undefined ? [] : [{ field: `${field}.issuer`, rule }]),
      ...checkScopes(one, known).map((unknown) => ({ field: `${field}.scopes.values`, rule: unknown })),
      ...checkFirstScopes(one).map((first) => ({ field: `${field}.scopes.first`, rule: first })),
    ];
  });
  broken.push(...checkAnonymous(auth ?? {}, mode, known), ...findBrokenIdentity(document, allow));
  if (!login) return broken;
  const unknown = checkScopes(login, known).map((rule) => ({ field: "auth.login.scopes.values", rule }));
  return [...broken, ...findBrokenSignIn(login, allow), ...findBrokenClients(login, allow), ...unknown];
}

const MODES: readonly unknown[] = ["open", "key", "oauth", "key+oauth", "mixed"] satisfies readonly Mode[];
const isText = (value: unknown) => typeof value === "string";
const isTextList = (value: unknown) => Array.isArray(value) && value.every(isText);

function checkShape({ auth, mode = "open" }: TenantDocument): FieldRule[] {
  const { issuers, anonymous, login } = { ...(auth as unknown as JsonObject) };
  const all: readonly unknown[] = Array.isArray(issuers) ? issuers : [];
  const isComplete = issuers === undefined ? login !== undefined : all.length > 0 && all.every(isIssuerShape);
  const broken = (isValid: boolean, field: string, rule: string) => (isValid ? [] : [{ field, rule }]);
  return [
    ...broken(MODES.includes(mode), "mode", `must be one of ${MODES.join(", ")}`),
    ...broken(isComplete, "auth.issuers", ISSUERS_RULE),
    ...broken(
      !anonymous || (isObject(anonymous) && isTextList(anonymous.scopes)),
      "auth.anonymous",
      "must be { scopes: [...] }",
    ),
  ];
}

const ISSUERS_RULE =
  "must be objects with issuer and optionally audience, claims (lists) and scopes: { claim, values: { VALUE: [SCOPE] } }";

function isIssuerShape(one: unknown): boolean {
  if (!isObject(one) || !isText(one.issuer)) return false;
  const { audience = [], claims = [], scopes } = one;
  return isTextList(audience) && isTextList(claims) && (scopes === undefined || isScopesShape(scopes));
}

function isScopesShape(scopes: unknown): boolean {
  if (!isObject(scopes) || !isText(scopes.claim) || !isObject(scopes.values)) return false;
  return isTextList(scopes.first ?? []) && Object.values(scopes.values).every(isTextList);
}

/** Scopes of anonymous callers must be explicit. */
function checkAnonymous({ anonymous }: AuthDocument, mode: Mode | undefined, known: readonly string[]): FieldRule[] {
  if (!anonymous) {
    const rule = "is required in the mode mixed: it names the scopes of callers without a credential";
    return mode === "mixed" ? [{ field: "auth.anonymous", rule }] : [];
  }
  return checkScopeNames(anonymous.scopes, known).map((rule) => ({ field: "auth.anonymous.scopes", rule }));
}

function checkScopes({ scopes }: Pick<IssuerDocument | LoginDocument, "scopes">, known: readonly string[]): string[] {
  return checkScopeNames(Object.values(scopes?.values ?? {}).flat(), known);
}

/** Most errors reported at once; the rest shows after these are fixed. */
const MAX_REPORTED = 100;
/** Most comparisons for suggestions: a tenant may have many hundreds of names. */
const MAX_COMPARED = 500;

function checkScopeNames(named: readonly string[], known: readonly string[]): string[] {
  const unknown = [...new Set(named)].filter((name) => !known.includes(name)).slice(0, MAX_REPORTED);
  return unknown.map((name, at) => {
    const isCompared = at * known.length < MAX_COMPARED;
    return `must name a scope of this tenant, not "${name}"${isCompared ? didYouMean(name, known) : ""}`;
  });
}

/** A client may only be told to ask for scopes that have a meaning in the token. */
function checkFirstScopes(issuer: IssuerDocument): string[] {
  const known = oauthScopesOf(issuer);
  const unknown = (issuer.scopes?.first ?? []).filter((name) => !known.includes(name));
  return unknown.map((name) => `must be keys of scopes.values, with the claim scope or scp, not "${name}"`);
}

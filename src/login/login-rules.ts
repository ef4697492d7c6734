// Owns what a document's `auth` must be beyond its shape: issuers that can be read, and scopes that are there. Pure.

import type { BrokenMember } from "../deployment/deployment.ts";
import { refusedAsWritten } from "../outbound/destination.ts";
import { nearest } from "../protocol/nearest.ts";
import type { IssuerDocument, TenantDocument } from "../tenants/document/tenant-document.ts";

/** `allow`: what the Worker's operator allows beside the public internet; undefined: nobody knows yet. */
export function brokenAuth({ auth, mode, scopes = {} }: TenantDocument, allow: string | undefined): BrokenMember[] {
  if (!auth) {
    return mode?.endsWith("oauth") ? [{ field: "auth", rule: `is needed in the mode ${mode}: it names issuers` }] : [];
  }
  const { issuers = [] } = auth;
  const names = issuers.map(({ issuer }) => issuer);
  return issuers.flatMap((one, at) => {
    const field = `auth.issuers.${at}`;
    const rule = names.indexOf(one.issuer) < at ? "stands there twice" : issuerRule(one.issuer, allow);
    return [
      ...(rule === undefined ? [] : [{ field: `${field}.issuer`, rule }]),
      ...scopeRules(one, Object.keys(scopes)).map((broken) => ({ field: `${field}.scopes.values`, rule: broken })),
    ];
  });
}

function issuerRule(issuer: string, allow: string | undefined): string | undefined {
  if (!URL.canParse(issuer)) return "is a URL";
  const url = new URL(issuer);
  // Tokens name it to the character, and a URL has one way to be written.
  if (url.href !== issuer && url.href !== `${issuer}/`) return `is written ${url.href}`;
  if (url.search !== "" || url.hash !== "") return "has no query and no fragment";
  if (allow === undefined || refusedAsWritten(url, allow) === undefined) return undefined;
  return "begins with https:// and leads to the public internet";
}

function scopeRules({ scopes }: IssuerDocument, known: readonly string[]): string[] {
  const named = new Set(Object.values(scopes?.values ?? {}).flat());
  return [...named]
    .filter((name) => !known.includes(name))
    .map((name) => {
      const near = nearest(name, known);
      return `names no scope "${name}"${near === undefined ? "" : `; did you mean "${near}"?`}`;
    });
}

// The rule for an issuer in a document: its metadata must be found under it, and tokens are compared with it.

import { findBrokenRuleInUrl } from "../../outbound/url-policy.ts";

/** Shared names of Entra without a server of their own: each token names the directory that issued it. */
const ENTRA_OF_ALL = /^https:\/\/login\.microsoftonline\.[a-z]+\/(common|organizations|consumers|\{|%7B)/i;

/** `allow`: hosts that the Worker's operator allows beside the public internet; undefined if not known yet. */
export function issuerRule(issuer: string, allow: string | undefined): string | undefined {
  if (!URL.canParse(issuer)) return "must be a URL";
  if (ENTRA_OF_ALL.test(issuer))
    return "must name one Entra directory by its id, as in https://login.microsoftonline.com/ID/v2.0";
  const url = new URL(issuer);
  // Tokens are compared exactly, so only a URL's normal form is accepted.
  if (url.href !== issuer && url.href !== `${issuer}/`) return `must be written ${url.href}`;
  if (url.search !== "" || url.hash !== "") return "must not have a query or a fragment";
  if (issuer.includes("/.well-known/")) return "must be the issuer in the metadata, not the URL of the metadata";
  if (allow === undefined || findBrokenRuleInUrl(url, allow) === undefined) return undefined;
  return "must begin with https:// and lead to the public internet";
}

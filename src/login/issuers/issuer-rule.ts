// Owns what the name of an authorization server must be in a document, so that its metadata can be looked for under it and
// tokens can be compared with it. Pure.

import { findBrokenRuleInUrl } from "../../outbound/url-policy.ts";

/** Names under which Entra has no server of its own: each of its tokens has another one, of one of all its directories. */
const ENTRA_OF_ALL = /^https:\/\/login\.microsoftonline\.[a-z]+\/(common|organizations|consumers|\{|%7B)/i;

/** `allow`: what the Worker's operator allows beside the public internet; undefined: nobody knows yet. */
export function issuerRule(issuer: string, allow: string | undefined): string | undefined {
  if (!URL.canParse(issuer)) return "is a URL";
  if (ENTRA_OF_ALL.test(issuer))
    return "names one directory of Entra by its id, as https://login.microsoftonline.com/ID/v2.0";
  const url = new URL(issuer);
  // Tokens name it to the character, and a URL has one way to be written.
  if (url.href !== issuer && url.href !== `${issuer}/`) return `is written ${url.href}`;
  if (url.search !== "" || url.hash !== "") return "has no query and no fragment";
  if (issuer.includes("/.well-known/")) return "is what the metadata has as issuer, and not the URL of the metadata";
  if (allow === undefined || findBrokenRuleInUrl(url, allow) === undefined) return undefined;
  return "begins with https:// and leads to the public internet";
}

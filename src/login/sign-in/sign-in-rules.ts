// Rules for each sign-in method in a document beyond its schema: required members are present, members without a use
// are absent, URLs are valid, and secrets are references.

import { parseSecretReference } from "../../gateway/upstream-rules.ts";
import { findBrokenRuleInUrl } from "../../outbound/url-policy.ts";
import type { LoginDocument, FieldRule } from "../../tenants/document/tenant-document.ts";
import { SECRET_NAME_RULE } from "../../tenants/document/secret-name.ts";
import { issuerRule } from "../issuers/issuer-rule.ts";

type Rule = (text: string, allow: string | undefined) => string | undefined;

const isText: Rule = () => undefined;

export const secretRule: Rule = (text) =>
  parseSecretReference(text) === undefined ? `must be {{secret:NAME}}, where NAME is ${SECRET_NAME_RULE}` : undefined;

/**
 * `isServerSide`: whether the Worker requests the URL. Otherwise the browser does, which may be inside of a network.
 */
export function urlRule(isServerSide: boolean): Rule {
  return (text, allow) => {
    if (!URL.canParse(text)) return "must be a URL";
    const url = new URL(text);
    if (url.hash !== "") return "must not have a fragment";
    const problem = allow === undefined ? undefined : findBrokenRuleInUrl(url, allow);
    if (problem === "scheme" || problem === "credentials")
      return "must begin with https:// and contain no user name or password";
    return problem !== undefined && isServerSide ? "must lead to the public internet" : undefined;
  };
}

/** The methods that need the member, other methods that accept it, and its rule. */
type MemberRule = readonly [name: keyof LoginDocument, needs: string, takes: string, rule: Rule];

const MEMBER_RULES: readonly MemberRule[] = [
  ["issuer", "oidc", "", issuerRule],
  ["authorizeUrl", "oauth2", "", urlRule(false)],
  ["tokenUrl", "oauth2", "", urlRule(true)],
  ["userUrl", "oauth2", "", urlRule(true)],
  ["clientId", "oidc oauth2", "", isText],
  ["clientSecret", "", "oidc oauth2", secretRule],
  ["request", "", "oidc oauth2", isText],
  ["productUrl", "product", "", urlRule(false)],
  ["productSecret", "product", "", secretRule],
  ["scopes", "", "oidc oauth2 product", isText],
];

export function findBrokenSignIn(login: LoginDocument, allow: string | undefined): FieldRule[] {
  return MEMBER_RULES.flatMap((member) => {
    const rule = checkMember(login, member, allow);
    return rule === undefined ? [] : [{ field: `auth.login.${member[0]}`, rule }];
  });
}

function checkMember(login: LoginDocument, [name, needs, takes, rule]: MemberRule, allow: string | undefined) {
  const { via, [name]: value } = login;
  const isNeeded = needs.split(" ").includes(via);
  if (value === undefined) return isNeeded ? `is required when via is ${via}` : undefined;
  if (!isNeeded && !takes.split(" ").includes(via)) return `is not allowed when via is ${via}`;
  return typeof value === "string" ? rule(value, allow) : undefined;
}

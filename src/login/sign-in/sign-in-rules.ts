// Owns what a document has to say of each way to sign in, beyond its shape: what the way needs is there, what it has no use
// for is not, URLs lead somewhere, and secrets stand elsewhere. Pure.

import type { BrokenMember } from "../../deployment/deployment.ts";
import { wholeSecret } from "../../gateway/upstream-rules.ts";
import { refusedAsWritten } from "../../outbound/destination.ts";
import type { LoginDocument } from "../../tenants/document/tenant-document.ts";
import { SECRET_NAME_RULE } from "../../tenants/document/secret-name.ts";
import { issuerRule } from "../issuers/issuer-rule.ts";

type Rule = (text: string, allow: string | undefined) => string | undefined;

const isText: Rule = () => undefined;

export const secretRule: Rule = (text) =>
  wholeSecret(text) === undefined ? `is {{secret:NAME}}, with a name of ${SECRET_NAME_RULE}` : undefined;

/** `isOurs`: whether we go there; else the browser does, which may be inside of a network. */
export function urlRule(isOurs: boolean): Rule {
  return (text, allow) => {
    if (!URL.canParse(text)) return "is a URL";
    const url = new URL(text);
    if (url.hash !== "") return "has no fragment";
    const broken = allow === undefined ? undefined : refusedAsWritten(url, allow);
    if (broken === "scheme" || broken === "credentials")
      return "begins with https:// and holds no name and no password";
    return broken !== undefined && isOurs ? "leads to the public internet" : undefined;
  };
}

/** Which ways need it, which others take it, and what it has to be. */
type Member = readonly [name: keyof LoginDocument, needs: string, takes: string, rule: Rule];

const MEMBERS: readonly Member[] = [
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

export function brokenSignIn(login: LoginDocument, allow: string | undefined): BrokenMember[] {
  return MEMBERS.flatMap((member) => {
    const rule = brokenRule(login, member, allow);
    return rule === undefined ? [] : [{ field: `auth.login.${member[0]}`, rule }];
  });
}

function brokenRule(login: LoginDocument, [name, needs, takes, rule]: Member, allow: string | undefined) {
  const { via, [name]: given } = login;
  const isNeeded = needs.split(" ").includes(via);
  if (given === undefined) return isNeeded ? `is needed to sign in by ${via}` : undefined;
  if (!isNeeded && !takes.split(" ").includes(via)) return `has no meaning where people sign in by ${via}`;
  return typeof given === "string" ? rule(given, allow) : undefined;
}

// The `identity` settings in a tenant's document: how handlers get tokens for the tenant's API, and the rules for those
// settings.

import type { OAuthPrincipal } from "../../auth/principal.ts";
import {
  issuersOf,
  type IdentityDocument,
  type TenantDocument,
  type FieldRule,
} from "../../tenants/document/tenant-document.ts";
import { secretRule, urlRule } from "../sign-in/sign-in-rules.ts";

/** The settings of the issuer or login through which the person signed in; undefined if it has none. */
export function identitySettingsOf(
  document: TenantDocument,
  { grant, issuer }: OAuthPrincipal,
): IdentityDocument | undefined {
  const source = grant === undefined ? issuersOf(document).find((one) => one.issuer === issuer) : document.auth?.login;
  return source?.identity;
}

export function signsTokens({ auth }: TenantDocument): boolean {
  return [...(auth?.issuers ?? []), auth?.login].some((source) => source?.identity?.via === "signed");
}

const ONE_SIGNER_RULE = "must be signed for one issuer only: `sub` identifies a person only within an issuer";
const NO_TOKENS_RULE = "needs a login via oidc or oauth2, whose provider issues tokens";

/** `allow`: hosts that the Worker's operator allows beside the public internet; undefined if not known yet. */
export function findBrokenIdentity(document: TenantDocument, allow: string | undefined): FieldRule[] {
  const { login } = document.auth ?? {};
  const sources = [
    ...issuersOf(document).map(({ issuer, identity }, at) => ({ issuer, identity, field: `auth.issuers.${at}` })),
    { issuer: login?.issuer ?? login?.via, identity: login?.identity, field: "auth.login" },
  ];
  const signers = new Set(sources.filter(({ identity }) => identity?.via === "signed").map(({ issuer }) => issuer));
  return sources.flatMap(({ identity, field }) => {
    if (!identity) return [];
    const hasTokens = field === "auth.login" ? login?.via.startsWith("o") === true : identity.via === "exchange";
    const checks = {
      via: identity.via === "signed" ? signers.size > 1 && ONE_SIGNER_RULE : !hasTokens && NO_TOKENS_RULE,
      ...(identity.via === "exchange" && checkExchange(identity, allow)),
    };
    return Object.entries(checks).flatMap(([member, rule]) =>
      rule ? [{ field: `${field}.identity.${member}`, rule }] : [],
    );
  });
}

function checkExchange({ tokenUrl = "", clientId, clientSecret }: IdentityDocument, allow: string | undefined) {
  return {
    tokenUrl: urlRule(true)(tokenUrl, allow),
    clientId: clientId === undefined && "is required when via is exchange",
    clientSecret: clientSecret !== undefined && secretRule(clientSecret, allow),
  };
}

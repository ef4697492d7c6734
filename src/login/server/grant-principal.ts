// The principal of an access token from a tenant's own authorization server. The tenant object looks the token up with
// the lease and applies the current document, so that a change of the document reaches tokens issued before.

import { omitUndefined } from "../../protocol/members.ts";
import type { OAuthPrincipal } from "../../auth/principal.ts";
import { useKey } from "../../tenants/object/lease-delta.ts";
import type { KeyGrant } from "../../tenants/object/policy-records.ts";
import type { TenantHost } from "../../tenants/object/tenant-host.ts";
import { acceptsTokens, type LoginDocument, type TenantDocument } from "../../tenants/document/tenant-document.ts";
import { scopesFromClaims, visibleClaims } from "../claims.ts";
import type { ProviderIdentity } from "../sign-in/identity-provider-client.ts";
import { toGrant, type GrantRow } from "./login-records.ts";

/** The issuer of people who sign in this way: `ProviderIdentity.issuer`. */
export function identityIssuerOf({ via, issuer, authorizeUrl, productUrl }: LoginDocument): string | undefined {
  if (via === "key") return via;
  const url = { oidc: issuer, oauth2: authorizeUrl, product: productUrl }[via];
  return via === "oidc" || url === undefined ? url : new URL(url).origin;
}

/** If operators list clients, all others are excluded. */
function allowsClient({ clients }: LoginDocument, id: string): boolean {
  return clients?.includes(id) ?? true;
}

/** Returns null when the token is unknown or expired, or when its client, key or login is no longer allowed. */
export function principalOfGrant(host: TenantHost, hash: string, { mode, auth }: TenantDocument): KeyGrant | null {
  const login = auth?.login;
  if (!login || !acceptsTokens(mode)) return null;
  const query =
    "SELECT g.*, a.expires AS until FROM login_access_tokens a JOIN login_active_grants g ON g.id = a.grant_id WHERE a.hash = ?";
  const [row] = host.sql.exec<GrantRow & { until: number }>(query, hash).toArray();
  if (!row || row.until <= host.now()) return null;
  const { person, scopes: consented, id, client } = toGrant(row);
  if (!allowsClient(login, client.id)) return null;
  const key = row.key_hash === null ? undefined : useKey(host, row.key_hash);
  if (key === null || person.issuer !== identityIssuerOf(login)) return null;
  const expires = Math.min(row.until, key?.expires ?? Infinity);
  const scopes = intersectScopes(consented, personScopesOf(login, person, key));
  const limitedPerson = { ...toPerson(row, login.claims), scopes, expires };
  // The profile is part of the resource, which is checked where the request is known.
  return { id, name: client.name, scopes: null, profile: null, expires, person: limitedPerson };
}

function toPerson(
  row: GrantRow,
  visibleNames: readonly string[] | undefined,
): Omit<OAuthPrincipal, "scopes" | "expires"> {
  const { id, principal, person, resource, narrowing } = toGrant(row);
  return {
    ...toPrincipal(principal, person, visibleNames),
    grant: id,
    tenantIssuer: row.tenant_issuer,
    resource,
    ...((narrowing.allow ?? (narrowing.toolsOnly || narrowing.deny.length > 0)) && { narrowing }),
  };
}

/** The principal as the author's code sees it. */
export function toPrincipal(
  id: string,
  { issuer, subject, email, name, groups, claims }: ProviderIdentity,
  visibleNames: readonly string[] | undefined,
) {
  return {
    kind: "oauth",
    id,
    subject,
    ...omitUndefined({ email, name, groups }),
    claims: visibleClaims(claims, visibleNames),
    issuer,
  } as const;
}

/** The scopes of a person, from the pasted key or from their claims; undefined: no limit. */
export function personScopesOf(
  { scopes }: LoginDocument,
  { claims }: Pick<ProviderIdentity, "claims">,
  key: KeyGrant | undefined,
): readonly string[] | undefined {
  return key ? (key.scopes ?? undefined) : scopes && scopesFromClaims(claims, scopes);
}

/** The scopes of the person that they consented to; undefined: no limit. */
export function intersectScopes(
  consentedScopes: readonly string[] | null,
  personScopes: readonly string[] | undefined,
): readonly string[] | undefined {
  if (consentedScopes === null) return personScopes;
  return personScopes ? personScopes.filter((name) => consentedScopes.includes(name)) : consentedScopes;
}

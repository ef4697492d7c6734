// Owns whom an access token of a tenant's own authorization server lets in: looked up in the authority with the lease, and
// decided by the document as it is now, so that a change of it reaches tokens that were given out before.

import { omitUndefined } from "../../protocol/members.ts";
import type { OAuthPrincipal } from "../../auth/principal.ts";
import { useKey } from "../../tenants/object/lease-delta.ts";
import type { KeyGrant } from "../../tenants/object/policy-records.ts";
import type { TenantHost } from "../../tenants/object/tenant-host.ts";
import { acceptsTokens, type LoginDocument, type TenantDocument } from "../../tenants/document/tenant-document.ts";
import { scopesFromClaims, visibleClaims } from "../claims.ts";
import type { ProviderIdentity } from "../sign-in/identity-provider-client.ts";
import { toGrant, type GrantRow } from "./login-records.ts";

/** Who vouches for people who sign in so: `SignedIn.issuer`. */
export function identityIssuerOf({ via, issuer, authorizeUrl, productUrl }: LoginDocument): string | undefined {
  if (via === "key") return via;
  const url = { oidc: issuer, oauth2: authorizeUrl, product: productUrl }[via];
  return via === "oidc" || url === undefined ? url : new URL(url).origin;
}

/** Operators who list clients have taken all others away. */
function allowsClient({ clients }: LoginDocument, id: string): boolean {
  return clients?.includes(id) ?? true;
}

/** null: nobody, any more or yet. */
export function principalOfGrant(host: TenantHost, hash: string, { mode, auth }: TenantDocument): KeyGrant | null {
  const login = auth?.login;
  if (!login || !acceptsTokens(mode)) return null;
  const query =
    "SELECT g.*, a.expires AS until FROM login_access a JOIN login_kept g ON g.id = a.grant_id WHERE a.hash = ?";
  const [row] = host.sql.exec<GrantRow & { until: number }>(query, hash).toArray();
  if (!row || row.until <= host.now()) return null;
  const { person, scopes: consented, id, client } = toGrant(row);
  if (!allowsClient(login, client.id)) return null;
  const key = row.key_hash === null ? undefined : useKey(host, row.key_hash);
  if (key === null || person.issuer !== identityIssuerOf(login)) return null;
  const expires = Math.min(row.until, key?.expires ?? Infinity);
  const scopes = intersectScopes(consented, personScopesOf(login, person, key));
  const limitedPerson = { ...toPerson(row, login.claims), scopes, expires };
  // A profile is part of the resource, which is looked at where the request is known.
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
    home: row.home,
    resource,
    ...((narrowing.allow ?? (narrowing.toolsOnly || narrowing.deny.length > 0)) && { narrowing }),
  };
}

/** As the author's code is shown them. */
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

/** What limits a person, by the key that they pasted or by their claims; undefined: nothing does. */
export function personScopesOf(
  { scopes }: LoginDocument,
  { claims }: Pick<ProviderIdentity, "claims">,
  key: KeyGrant | undefined,
): readonly string[] | undefined {
  return key ? (key.scopes ?? undefined) : scopes && scopesFromClaims(claims, scopes);
}

/** What was consented to, of what the person has; undefined: nothing limits them. */
export function intersectScopes(
  consentedScopes: readonly string[] | null,
  personScopes: readonly string[] | undefined,
): readonly string[] | undefined {
  if (consentedScopes === null) return personScopes;
  return personScopes ? personScopes.filter((name) => consentedScopes.includes(name)) : consentedScopes;
}

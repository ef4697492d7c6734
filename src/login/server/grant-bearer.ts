// Owns whom an access token of a tenant's own authorization server lets in: looked up in the authority with the lease, and
// decided by the document as it is now, so that a change of it reaches tokens that were given out before.

import { given } from "../../protocol/members.ts";
import type { Person } from "../../auth/principal.ts";
import { useKey } from "../../tenants/authority/leases.ts";
import type { KeyGrant } from "../../tenants/authority/policy-records.ts";
import type { TenantHost } from "../../tenants/authority/tenant-host.ts";
import { takesTokens, type LoginDocument, type TenantDocument } from "../../tenants/document/tenant-document.ts";
import { scopesIn, shownOf } from "../claims.ts";
import type { SignedIn } from "../sign-in/sign-in.ts";
import { grantIn, type GrantRow } from "./login-records.ts";

/** Who vouches for people who sign in so: `SignedIn.issuer`. */
export function voucherOf({ via, issuer, authorizeUrl, productUrl }: LoginDocument): string | undefined {
  if (via === "key") return via;
  const url = { oidc: issuer, oauth2: authorizeUrl, product: productUrl }[via];
  return via === "oidc" || url === undefined ? url : new URL(url).origin;
}

/** Operators who list clients have taken all others away. */
function takesClient({ clients }: LoginDocument, id: string): boolean {
  return clients?.includes(id) ?? true;
}

/** null: nobody, any more or yet. */
export function bearerOfGrant(host: TenantHost, hash: string, { mode, auth }: TenantDocument): KeyGrant | null {
  const login = auth?.login;
  if (!login || !takesTokens(mode)) return null;
  const query =
    "SELECT g.*, a.expires AS until FROM login_access a JOIN login_kept g ON g.id = a.grant_id WHERE a.hash = ?";
  const [row] = host.sql.exec<GrantRow & { until: number }>(query, hash).toArray();
  if (!row || row.until <= host.now()) return null;
  const { person, scopes: consented, id, client } = grantIn(row);
  if (!takesClient(login, client.id)) return null;
  const key = row.key_hash === null ? undefined : useKey(host, row.key_hash);
  if (key === null || person.issuer !== voucherOf(login)) return null;
  const expires = Math.min(row.until, key?.expires ?? Infinity);
  const scopes = within(consented, theirScopes(login, person, key));
  const bearer = { ...personIn(row, login.claims), scopes, expires };
  // A profile is part of the resource, which is looked at where the request is known.
  return { id, name: client.name, scopes: null, profile: null, expires, person: bearer };
}

function personIn(row: GrantRow, shown: readonly string[] | undefined): Omit<Person, "scopes" | "expires"> {
  const { id, principal, person, resource, narrowing } = grantIn(row);
  return {
    ...shownPerson(principal, person, shown),
    grant: id,
    home: row.home,
    resource,
    ...((narrowing.allow ?? (narrowing.toolsOnly || narrowing.deny.length > 0)) && { narrowing }),
  };
}

/** As the author's code is shown them. */
export function shownPerson(
  id: string,
  { issuer, subject, email, name, groups, claims }: SignedIn,
  shown: readonly string[] | undefined,
) {
  return {
    kind: "oauth",
    id,
    subject,
    ...given({ email, name, groups }),
    claims: shownOf(claims, shown),
    issuer,
  } as const;
}

/** What limits a person, by the key that they pasted or by their claims; undefined: nothing does. */
export function theirScopes(
  { scopes }: LoginDocument,
  { claims }: Pick<SignedIn, "claims">,
  key: KeyGrant | undefined,
): readonly string[] | undefined {
  return key ? (key.scopes ?? undefined) : scopes && scopesIn(claims, scopes);
}

/** What was consented to, of what the person has; undefined: nothing limits them. */
export function within(
  consented: readonly string[] | null,
  theirs: readonly string[] | undefined,
): readonly string[] | undefined {
  if (consented === null) return theirs;
  return theirs ? theirs.filter((name) => consented.includes(name)) : consented;
}

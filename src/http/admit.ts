// Owns admission: who calls, whether the tenant, the profile and the principal may be served now and with so large a
// request, and the view they get.

import { isKey } from "../auth/api-key.ts";
import { ANONYMOUS, keyPrincipalId, type Principal } from "../auth/principal.ts";
import { documentOf, viewOf, type Catalog, type View } from "../content/serve/view.ts";
import type { NewResource } from "../calls/resource-store.ts";
import { failure, type Failure } from "../protocol/errors.ts";
import { isFailure } from "../protocol/methods/params.ts";
import type { Tenant } from "../tenants/document/tenant-definition.ts";
import type { TenantDocument } from "../tenants/document/tenant-document.ts";
import type { KeyGrant, Policy } from "../tenants/authority/policy-records.ts";
import type { Snapshot } from "../tenants/isolate/snapshot.ts";
import type { Suspension } from "../tenants/document/visibility.ts";

export interface Admitted {
  readonly kind: "admitted";
  readonly principal: Principal;
  readonly view: View;
}

export interface Applicant {
  readonly tenant: Tenant<NewResource>;
  readonly profile: string | null;
  readonly snapshot: Snapshot;
  /** null: no credential was brought. */
  readonly token: string | null;
  /** Of the request. */
  readonly bodyBytes: number;
}

export function admit(catalog: Catalog, applicant: Applicant): Admitted | Failure {
  const { tenant, profile, snapshot } = applicant;
  const { policy } = snapshot;
  const document = derive(snapshot, "document", () => documentOf(tenant, policy));
  const principal = principalOf(applicant, document.mode ?? "open");
  if (isFailure(principal)) return principal;
  if (profile !== null && !Object.hasOwn(document.profiles ?? {}, profile)) return failure("unknownTenant");
  const suspended = suspensionOf(policy, profile, principal);
  if (suspended) return failure("suspended", `Suspended: ${suspended.note}`);
  if (applicant.bodyBytes > mostBytes(document)) return failure("tooLarge");
  const scopes = principal.scopes?.join(" ") ?? "*";
  const view = derive(snapshot, `view ${profile ?? ""} ${scopes}`, () =>
    viewOf(catalog, tenant, policy, { profile, scopes: principal.scopes }),
  );
  return { kind: "admitted", principal, view };
}

function suspensionOf({ suspensions }: Policy, profile: string | null, principal: Principal): Suspension | undefined {
  return suspensions.find(
    ({ kind, name }) =>
      kind === "tenant" || (kind === "profile" && name === profile) || (kind === "principal" && name === principal.id),
  );
}

function mostBytes({ limits }: TenantDocument): number {
  return limits?.bodyBytes ?? Infinity;
}

/** The same for a name that does not exist as for one that is protected. */
export function unauthorized(token: string | null): Failure {
  return token === null ? failure("unauthorized") : failure("unauthorized", "Invalid credential");
}

function derive<T>(snapshot: Snapshot, key: string, make: () => T): T {
  let value = snapshot.derived.get(key) as T | undefined;
  if (value === undefined) snapshot.derived.set(key, (value = make()));
  return value;
}

function principalOf({ snapshot, token, profile }: Applicant, mode: "open" | "key"): Principal | Failure {
  if (token === null) return mode === "open" ? ANONYMOUS : unauthorized(token);
  const grant = isKey(token) ? snapshot.keys.get(token) : undefined;
  if (!grant || (grant.expires !== null && grant.expires <= Date.now())) return unauthorized(token);
  if (grant.profile !== null && grant.profile !== profile)
    return failure("forbidden", "This key belongs to another profile");
  return keyPrincipal(grant);
}

const principals = new WeakMap<KeyGrant, Principal>();

function keyPrincipal(grant: KeyGrant): Principal {
  let principal = principals.get(grant);
  if (!principal) {
    const { id, name, scopes } = grant;
    principal = { kind: "key", id: keyPrincipalId(id), subject: name, scopes: scopes ?? undefined, claims: {} };
    principals.set(grant, principal);
  }
  return principal;
}

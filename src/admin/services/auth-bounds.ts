// Limits the authorization servers that a tenant-admin may configure to those within an operator's bounds. An issuer
// decides who gains access, and the Worker fetches its keys on the operator's account.

import { canonicalJson } from "../../auth/seal.ts";
import type { AuthBounds, IssuerDocument, TenantDocument, FieldRule } from "../../tenants/document/tenant-document.ts";
import { isWithinHosts } from "../../tenants/document/upstream-hosts.ts";

const OPERATOR_ONLY = "only an operator may change it";

/**
 * Without bounds, a tenant-admin may change nothing of `auth`. With bounds: issuers within them, and anonymous
 * access, since a tenant-admin may open the tenant anyway.
 */
export function authBoundsErrors(
  { auth: before }: TenantDocument,
  { auth: after }: TenantDocument,
  bounds: AuthBounds | undefined,
): FieldRule[] {
  if (isSame(before, after)) return [];
  if (!bounds) return [{ field: "auth", rule: OPERATOR_ONLY }];
  const { issuers: previousIssuers = [], anonymous: _was, ...previousRest } = { ...before } as AuthParts;
  const { issuers: nextIssuers = [], anonymous: _is, ...nextRest } = { ...after } as AuthParts;
  const { hosts = [] } = bounds;
  const allowed = hosts.length === 0 ? "none is allowed" : `allowed are ${hosts.join(", ")}`;
  const members = [...new Set([...Object.keys(previousRest), ...Object.keys(nextRest)])];
  /**
   * The first URL outside the allowed hosts that the Worker would call for an issuer, to read its metadata or to
   * exchange tokens.
   */
  const disallowedUrlOf = ({ issuer, identity }: IssuerDocument) =>
    [issuer, identity?.tokenUrl ?? issuer].find((url) => URL.canParse(url) && !isWithinHosts(new URL(url), hosts));
  return [
    ...members
      .filter((name) => !isSame(previousRest[name], nextRest[name]))
      .map((name) => ({ field: `auth.${name}`, rule: OPERATOR_ONLY })),
    ...nextIssuers.flatMap((one, at) => {
      const url = disallowedUrlOf(one);
      if (url === undefined || previousIssuers.some((other) => isSame(one, other))) return [];
      const rule = `only an operator may write an issuer at ${new URL(url).host}: ${allowed} in authBounds.hosts`;
      return [{ field: `auth.issuers.${at}.issuer`, rule }];
    }),
    // An issuer that operators configured may be how their own people gain access.
    ...previousIssuers
      .filter((one) => disallowedUrlOf(one) !== undefined && !nextIssuers.some((other) => isSame(one, other)))
      .map(({ issuer }) => ({ field: "auth.issuers", rule: `only an operator may change or take away ${issuer}` })),
  ];
}

type AuthParts = { readonly issuers?: readonly IssuerDocument[]; readonly anonymous?: unknown } & Readonly<
  Record<string, unknown>
>;

function isSame(one: unknown, other: unknown): boolean {
  return canonicalJson(one ?? null) === canonicalJson(other ?? null);
}

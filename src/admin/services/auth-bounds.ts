// Owns which authorization servers a tenant's own administrator may write: those that an operator's bounds allow. Whoever
// writes an issuer says who gets in, and where a Worker fetches keys on its operator's account. Pure.

import { canonicalJson } from "../../auth/seal.ts";
import type { AuthBounds, IssuerDocument, TenantDocument } from "../../tenants/document/tenant-document.ts";
import { isWithinHosts } from "../../tenants/document/upstream-hosts.ts";
import type { FieldRule } from "../field-rule.ts";

const OPERATOR_ONLY = "only an operator may change it";

/** Without bounds nothing of `auth`; with them issuers within, and what everybody sees, who may open a tenant anyway. */
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
  /** Where an issuer of theirs would have the Worker go beside their hosts: to read it, or to exchange tokens. */
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
    // One of theirs may be how the operators' own people get in.
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

// Owns which endpoints of a tenant its authorization server gives tokens for. Pure.
// https://datatracker.ietf.org/doc/html/rfc8707

import type { TenantDocument } from "../../tenants/document/tenant-document.ts";
import type { LoginUrls } from "../login-visit.ts";

export interface NamedResource {
  readonly resource: string;
  readonly profile: string | null;
}

/** `named`: as a client writes it; none: the tenant's endpoint without a profile. undefined: it is none of this tenant's. */
export function resourceOf(
  { resource, shared }: LoginUrls,
  { profiles = {} }: Pick<TenantDocument, "profiles">,
  named: readonly string[],
): NamedResource | undefined {
  const [one, ...more] = new Set(named.map(written));
  if (one === undefined) return { resource, profile: null };
  if (more.length > 0) return undefined;
  if (one === resource || one === shared) return { resource: one, profile: null };
  const profile = one.startsWith(`${resource}/`) ? one.slice(resource.length + 1) : "";
  return Object.hasOwn(profiles, profile) ? { resource: one, profile } : undefined;
}

/** The name of the endpoint at a URL, without slashes at the end and without query; empty where there is none. */
function written(text: string): string {
  if (!URL.canParse(text)) return "";
  const { origin, pathname, hash } = new URL(text);
  return hash === "" ? origin + pathname.replace(/\/+$/, "") : "";
}

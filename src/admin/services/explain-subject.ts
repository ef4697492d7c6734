// The subject of an `explain` request: a key, a user of the app that mounts the Worker, or no one in particular. Also
// explains why the subject has no access at all. The author's `visible` is not called for a user without claims.

import { appPrincipal, parseAppUser, type AppUser } from "../../auth/app-user.ts";
import { ANONYMOUS, keyPrincipal, type Principal } from "../../auth/principal.ts";
import type { KeyRecord } from "../../tenants/object/policy-records.ts";
import type { TenantDocument } from "../../tenants/document/tenant-document.ts";
import { invalidFields } from "../problem.ts";
import type { AdminContext } from "../route.ts";
import { requireKey, type TenantHandle } from "./tenant-handle.ts";

export interface ExplainSubject {
  /** The id in suspensions. */
  readonly id: string;
  /** The scopes that limit the subject; undefined: no limit. */
  readonly scopes: readonly string[] | undefined;
  readonly blockedBy: readonly string[];
  /** The one of these reasons that a key would remove. */
  readonly keyRequired?: string;
  /** The principal to pass to the author's `visible`; a text: why that is not possible. */
  readonly viewer: Principal | string;
  /** Rules that are unknown because no caller is named; undefined: none. */
  readonly unknown?: string;
}

interface SubjectQuery {
  readonly key?: string;
  /** JSON, in the form that the app's `authenticate` returns. */
  readonly user?: string;
  readonly profile?: string;
}

export async function resolveSubject(
  context: AdminContext,
  handle: TenantHandle,
  document: TenantDocument,
  query: SubjectQuery,
): Promise<ExplainSubject> {
  const { key, user, profile = null } = query;
  if (user !== undefined) {
    if (key !== undefined) throw invalidFields(["user", "name a key or a user, not both"]);
    return appUserSubject(context, handle, document, user);
  }
  return key === undefined ? anonymousSubject(document) : keySubject(await requireKey(handle, key), document, profile);
}

function anonymousSubject({ mode = "open", auth }: TenantDocument): ExplainSubject {
  const isAdmitted = mode === "open" || mode === "mixed";
  const scopes = mode === "mixed" ? (auth?.anonymous?.scopes ?? []) : undefined;
  const keyRequired = isAdmitted || mode === "oauth" ? undefined : "tenant: needs a key, and the request names none";
  const blockedBy = isAdmitted ? [] : [keyRequired ?? NO_KEYS];
  const subject = { id: ANONYMOUS.id, scopes, blockedBy, ...(keyRequired !== undefined && { keyRequired }) };
  if (isAdmitted) return { ...subject, viewer: ANONYMOUS };
  const missingCaller = mode === "key" ? "no key is named" : "no caller is named";
  return {
    ...subject,
    viewer: missingCaller,
    unknown: `principal: ${missingCaller}, so its limits are unknown`,
  };
}

const NO_KEYS = "tenant: takes tokens of its issuers, and no keys";

function keySubject(key: KeyRecord, { mode }: TenantDocument, profile: string | null): ExplainSubject {
  const principal = keyPrincipal(key);
  const { id, scopes } = principal;
  if (mode === "oauth") return { id, scopes, blockedBy: [NO_KEYS], viewer: principal };
  const expiry = Math.min(key.expires ?? Infinity, key.retires ?? Infinity);
  const blockedBy = [
    ...(expiry <= Date.now() ? ["key: has expired"] : []),
    ...(key.profile !== null && key.profile !== profile ? [`key: is for the profile ${key.profile} only`] : []),
  ];
  return { id, scopes, blockedBy, viewer: principal };
}

function appUserSubject(
  context: AdminContext,
  { id: tenantId }: TenantHandle,
  document: TenantDocument,
  text: string,
): ExplainSubject {
  const user = parseUserParam(text);
  const { tenant, claims, expires = Infinity } = user;
  const principal = appPrincipal(user, document.scopes);
  const { mode = "open" } = document;
  const blockedBy = [
    ...(context.options.catalog.isPrivate ? [] : ["app: this Worker has no authenticate, so it has no users"]),
    ...(tenant !== undefined && tenant !== tenantId ? [`app: this is a user of the tenant ${tenant}`] : []),
    ...(tenant === undefined && mode !== "open"
      ? ["app: the user has no tenant, so only open tenants admit this user"]
      : []),
    ...(expires <= Date.now() ? ["app: the user's session has expired"] : []),
  ];
  const viewer = claims ? principal : "the user's claims are unknown here";
  return { id: principal.id, scopes: principal.scopes, blockedBy, viewer };
}

function parseUserParam(text: string): AppUser {
  try {
    return parseAppUser(JSON.parse(text));
  } catch (error) {
    throw invalidFields(["user", (error as Error).message]);
  }
}

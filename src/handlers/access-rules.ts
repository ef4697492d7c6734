import type { Principal } from "../auth/principal.ts";
import { omitUndefined } from "../protocol/members.ts";
import type { Around } from "./request-scope.ts";

/** The caller and the tenant for which a definition is listed or called. */
export interface Viewer<Settings = Tenantry.Settings> {
  readonly principal: Principal;
  readonly tenant: { readonly id: string; readonly profile: string | null };
  /** As `ctx.settings`. Validated when read: throws if the settings do not fit their schema. */
  readonly settings: Settings;
}

export interface AccessRules<Settings = Tenantry.Settings> {
  /**
   * Whether the definition exists for this caller. If the function returns false, clients do not see the definition in
   * lists, completions and announcements, and cannot call it. The function must be pure and synchronous, because every
   * request calls it. If the function throws, the definition is hidden, and `onError` gets the error.
   */
  readonly visible?: (viewer: Viewer<Settings>) => boolean;
  /**
   * Middleware for each call of this definition. A call first runs the Worker's middleware, then the tenant's middleware,
   * then this middleware.
   */
  readonly around?: Around;
}

/** The options that are not listed. */
export function accessRulesOf({ visible, around }: AccessRules<never>): AccessRules<never> {
  return omitUndefined({ visible, around });
}

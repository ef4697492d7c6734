// Owns what an author may say beside a tool, prompt or resource: to whom it is there, and what runs around each call.

import type { Principal } from "../auth/principal.ts";
import { omitUndefined } from "../protocol/members.ts";
import type { Around } from "./request-scope.ts";

/** Who looks, and at which tenant. */
export interface Viewer<Settings = Tenantry.Settings> {
  readonly principal: Principal;
  readonly tenant: { readonly id: string; readonly profile: string | null };
  /** As `ctx.settings`: read when it is looked at, and throws where it does not fit its schema. */
  readonly settings: Settings;
}

export interface AccessRules<Settings = Tenantry.Settings> {
  /**
   * Whether it is there for this caller: it is neither listed nor called, completed or told of where this says no. Pure and
   * synchronous, because every request asks it. Where it throws, it is not there, and `onError` hears of that.
   */
  readonly visible?: (viewer: Viewer<Settings>) => boolean;
  /** Runs around each call that finds it, inside of what the Worker and the tenant have. */
  readonly around?: Around;
}

/** What of a definition's options is not listed. */
export function accessRulesOf({ visible, around }: AccessRules<never>): AccessRules<never> {
  return omitUndefined({ visible, around });
}

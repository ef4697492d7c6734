// Owns what an author may say beside a tool, prompt or resource: to whom it is there, and what runs around each call.

import type { Principal } from "../auth/principal.ts";
import type { Around } from "./call-host.ts";

/** Who looks, and at which tenant. */
export interface Viewer {
  readonly principal: Principal;
  readonly tenant: { readonly id: string; readonly profile: string | null };
}

export interface Guarded {
  /**
   * Whether it is there for this caller: it is neither listed nor called, completed or told of where this says no. Pure and
   * synchronous, because every request asks it. Where it throws, it is not there, and `onError` hears of that.
   */
  readonly visible?: (viewer: Viewer) => boolean;
  /** Runs around each call that finds it, inside of what the Worker and the tenant have. */
  readonly around?: Around;
}

/** What of a definition's options is not listed. Throws a TypeError where one is no function. */
export function guardsOf(what: string, guarded: Guarded): Guarded {
  const found: Record<string, unknown> = {};
  for (const member of ["visible", "around"] as const) {
    const guard = guarded[member];
    if (guard === undefined) continue;
    if (typeof guard !== "function") throw new TypeError(`${what}: ${member} is a function`);
    found[member] = guard;
  }
  return found;
}

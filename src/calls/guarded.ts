// Owns what an author may say beside a tool, prompt or resource: to whom it is there, and what runs around each call.

import type { Principal } from "../auth/principal.ts";
import { given } from "../protocol/members.ts";
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

/** What of a definition's options is not listed. */
export function guardsOf({ visible, around }: Guarded): Guarded {
  return given({ visible, around });
}

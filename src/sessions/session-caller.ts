// Owns what sessions and stored calls need to know of the caller they belong to. Refuses to know how the caller was let
// in.

import type { Credential } from "../auth/credential.ts";
import type { Principal } from "../auth/principal.ts";
import type { KeyRing } from "../auth/seal.ts";
import type { TenantUid } from "../tenants/object/tenant-uid.ts";
import type { EndedSessions } from "../tenants/cache/ended-sessions.ts";
import type { SessionStubs } from "./session-stubs.ts";

export interface SessionCaller {
  /** The path under which the Worker is mounted that was called; empty: at the root. */
  readonly mount: string;
  readonly tenant: string;
  /** Which tenant of the name it is. */
  readonly created: TenantUid;
  readonly profile: string | null;
  readonly principal: Principal;
  readonly credential: Credential;
  /** How many Workers of ours the request went through. */
  readonly hops: number;
  /** By which the request is found in logs. */
  readonly requestId: string;
  readonly ring: KeyRing;
  readonly endedSessions: EndedSessions;
  readonly sessionStubs: SessionStubs;
  /** Whose something is that is kept: the principal, or by where they come from who has no credential. */
  owner(): Promise<string>;
  waitUntil(work: Promise<unknown>): void;
  onError(error: unknown): void;
}

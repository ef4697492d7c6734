// The parts of a request's caller that sessions and stored calls need, without the way in which the caller was
// admitted.

import type { Credential } from "../auth/credential.ts";
import type { Principal } from "../auth/principal.ts";
import type { KeyRing } from "../auth/seal.ts";
import type { TenantUid } from "../tenants/object/tenant-uid.ts";
import type { EndedSessions } from "../tenants/cache/ended-sessions.ts";
import type { SessionStubs } from "./session-stubs.ts";

export interface SessionCaller {
  /** The path at which the Worker is mounted; empty: the root. */
  readonly mount: string;
  readonly tenant: string;
  /** Distinguishes the tenant from others of its name. */
  readonly created: TenantUid;
  readonly profile: string | null;
  readonly principal: Principal;
  readonly credential: Credential;
  /** How many tenantry Workers forwarded the request. */
  readonly hops: number;
  /** Identifies the request in logs. */
  readonly requestId: string;
  readonly ring: KeyRing;
  readonly endedSessions: EndedSessions;
  readonly sessionStubs: SessionStubs;
  /** The owner of stored data: the principal, or the client address of a caller without a credential. */
  owner(): Promise<string>;
  waitUntil(work: Promise<unknown>): void;
  onError(error: unknown): void;
}

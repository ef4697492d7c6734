// Owns a visit that was let in: under which snapshot, as whom, and what it sees. It is what handlers, sessions and
// streams are handed, and it can be let in again when its lease has ended.

import type { Principal } from "../auth/principal.ts";
import type { KeyRing } from "../auth/seal.ts";
import type { CallHost, Hooks } from "../calls/call-host.ts";
import type { ResourceStore } from "../calls/resource-store.ts";
import { ViewBackend } from "../content/serve/backend.ts";
import type { View } from "../content/serve/view.ts";
import { resourcesUnder } from "../content/store/view-store.ts";
import type { Backend } from "../protocol/backend.ts";
import type { Doors } from "../sessions/doors.ts";
import type { SessionCaller } from "../sessions/session-caller.ts";
import type { TenantStub } from "../tenants/authority/tables.ts";
import type { Snapshot } from "../tenants/isolate/snapshot.ts";
import { readSecret } from "../tenants/isolate/tenant-secrets.ts";
import type { Visit } from "./visit.ts";

export class Entered implements CallHost, SessionCaller {
  readonly kind = "entered";
  readonly visit: Visit;
  readonly snapshot: Snapshot;
  readonly principal: Principal;
  readonly view: View;
  #backend: Backend | undefined;

  constructor(visit: Visit, snapshot: Snapshot, principal: Principal, view: View) {
    this.visit = visit;
    this.snapshot = snapshot;
    this.principal = principal;
    this.view = view;
  }

  /** Whether the lease lasts: until it ends, nothing that was withdrawn since it began is acknowledged to anybody. */
  get holds(): boolean {
    return Date.now() < this.snapshot.validUntil;
  }

  get backend(): Backend {
    return (this.#backend ??= new ViewBackend(this.view, this));
  }

  get tenant(): string {
    return this.visit.tenant;
  }
  get profile(): string | null {
    return this.visit.knock.profile;
  }
  get credential(): Visit["knock"]["credential"] {
    return this.visit.knock.credential;
  }
  get sight(): View {
    return this.view;
  }
  get env(): Visit["env"] {
    return this.visit.env;
  }
  get ring(): KeyRing {
    return this.snapshot.ring;
  }
  get ended(): Snapshot["ended"] {
    return this.snapshot.ended;
  }
  get hooks(): Hooks {
    return this.visit.deployment.hooks;
  }
  get doors(): Doors {
    return this.visit.doors;
  }

  resources(): ResourceStore {
    return resourcesUnder({ tenant: this.tenant, sight: this.view, bodies: this.env.BODIES }, this.stub());
  }

  secret(name: string): Promise<string | undefined> {
    return readSecret({ env: this.env, snapshot: this.snapshot, stub: () => this.stub() }, name);
  }

  stub(): TenantStub {
    return this.visit.stub();
  }

  waitUntil(work: Promise<unknown>): void {
    this.visit.waitUntil(work);
  }

  onError(error: unknown): void {
    this.visit.onError(error);
  }
}

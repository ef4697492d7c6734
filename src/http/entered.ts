// Owns a visit that was let in: under which snapshot, as whom, and what it sees. It is what handlers, sessions and
// streams are handed, and it can be let in again when its lease has ended.

import { ANONYMOUS, type Principal } from "../auth/principal.ts";
import type { KeyRing } from "../auth/seal.ts";
import type { Around, CallHost, Hooks } from "../calls/call-host.ts";
import type { ResourceStore } from "../calls/resource-store.ts";
import { ViewBackend } from "../content/serve/backend.ts";
import type { View } from "../content/serve/view.ts";
import { resourcesUnder } from "../content/store/view-store.ts";
import type { LimitsInForce } from "../limits/limit-table.ts";
import type { Backend } from "../protocol/backend.ts";
import type { Call } from "../protocol/call.ts";
import { hopsOf } from "../outbound/hops.ts";
import { failure, type Failure } from "../protocol/errors.ts";
import type { JsonObject } from "../protocol/jsonrpc.ts";
import { isFailure } from "../protocol/methods/params.ts";
import { parseUri } from "../protocol/uri.ts";
import { createDoors, type Doors } from "../sessions/doors.ts";
import type { SessionCaller } from "../sessions/session-caller.ts";
import { keptUnder, type Incarnation, type TenantStub } from "../tenants/authority/incarnation.ts";
import { isLeased, type Snapshot } from "../tenants/isolate/snapshot.ts";
import type { TenantDocument } from "../tenants/document/tenant-document.ts";
import { readSecret } from "../tenants/isolate/tenant-secrets.ts";
import { requestIdOf } from "../telemetry/request-id.ts";
import type { Visit } from "./visit.ts";

/** One of so many parts of a tenant's sessions is for callers with a key. */
const SPARE_PARTS = 4;

export interface Admission {
  readonly visit: Visit;
  readonly snapshot: Snapshot;
  readonly principal: Principal;
  readonly view: View;
  readonly document: TenantDocument;
  readonly limits: LimitsInForce;
  readonly tendBy: CallHost["tendBy"];
  /** Lets the same visit in anew. */
  readonly enter: (visit: Visit) => Promise<Entered | Failure>;
}

export class Entered implements CallHost, SessionCaller {
  readonly kind = "entered";
  readonly visit: Visit;
  readonly snapshot: Snapshot;
  readonly principal: Principal;
  readonly view: View;
  readonly document: TenantDocument;
  readonly limits: LimitsInForce;
  readonly tendBy: CallHost["tendBy"];
  #backend: Backend | undefined;
  #doors: Doors | undefined;

  readonly #enter: Admission["enter"];

  constructor({ visit, snapshot, principal, view, document, limits, tendBy, enter }: Admission) {
    this.visit = visit;
    this.snapshot = snapshot;
    this.principal = principal;
    this.view = view;
    this.document = document;
    this.limits = limits;
    visit.limits = limits;
    visit.host = this;
    this.tendBy = tendBy;
    this.#enter = enter;
  }

  /** Whether the lease lasts: until it ends, nothing that was withdrawn since it began is acknowledged to anybody. */
  get holds(): boolean {
    return isLeased(this.snapshot);
  }

  /**
   * Looked at where something was waited for just before a handler runs: a hook, a validation. Costs one comparison while
   * the lease holds. A failure: what the call is for was withdrawn meanwhile.
   */
  async recheck(call: Call, served?: Served): Promise<Failure | undefined> {
    if (this.holds) return undefined;
    const again = await this.#enter(this.visit);
    if (isFailure(again)) return again;
    if (again.snapshot.version === this.snapshot.version && again.document === this.document) return undefined;
    return lackOf(call, again) ?? served?.(again.document);
  }

  get backend(): Backend {
    return (this.#backend ??= new ViewBackend(this.view, this));
  }

  get mount(): string {
    return this.visit.deployment.path;
  }
  get tenant(): string {
    return this.visit.tenant;
  }
  get created(): Incarnation {
    return this.snapshot.created;
  }
  get meant(): CallHost["meant"] {
    return { id: this.tenant, placement: this.visit.placement, incarnation: this.created };
  }
  get profile(): string | null {
    return this.visit.knock.profile;
  }
  owner(): Promise<string> {
    return this.visit.ownerOf(this.principal.id);
  }
  get trace(): CallHost["trace"] {
    const { trail } = this.visit;
    return trail && ((meta) => trail.trace(meta));
  }
  get hops(): number {
    return hopsOf(this.visit.request.headers);
  }
  get sentText(): string | undefined {
    return this.visit.sentText;
  }
  get headers(): Headers {
    return this.visit.request.headers;
  }
  get requestId(): string {
    return requestIdOf(this.visit.request);
  }
  get around(): CallHost["around"] {
    const { deployment, knock } = this.visit;
    const of = isFailure(knock.known) ? undefined : (knock.known.definition?.around as Around | undefined);
    if (!deployment.around && !of) return undefined;
    return [deployment.around, of].filter((one) => one !== undefined);
  }
  clientHeader(name: string): string | null {
    return this.visit.request.headers.get(name);
  }
  get credential(): Visit["knock"]["credential"] {
    return this.visit.knock.credential;
  }
  get sight(): View {
    return this.view;
  }
  /** Whoever wants it is about to ask somebody who is bound there. */
  get env(): Visit["env"] {
    this.visit.asked += 1;
    return this.visit.env;
  }
  get ring(): KeyRing {
    return this.snapshot.ring;
  }
  get ended(): Snapshot["ended"] {
    return this.snapshot.ended;
  }
  get hooks(): Hooks {
    return this.visit.hooks;
  }
  get results(): CallHost["results"] {
    return this.visit.deployment.features.find(({ results }) => results)?.results;
  }
  get tell(): CallHost["tell"] {
    return this.visit.deployment.features.find(({ tell }) => tell)?.tell;
  }
  get identity(): CallHost["identity"] {
    return this.visit.deployment.features.find(({ identity }) => identity)?.identity?.(this);
  }
  get doors(): Doors {
    this.visit.asked += 1;
    const { jurisdiction } = this.visit.placement;
    return (this.#doors ??= createDoors(this.kept, this.env, {
      stub: () => this.stub(),
      jurisdiction,
      ownership: async ({ principal }) => {
        const { sessions: mostOfOwner, tenantSessions: mostOfAll } = this.visit.limits;
        const spare = principal === ANONYMOUS.id ? Math.floor(mostOfAll / SPARE_PARTS) : 0;
        return { owner: await this.visit.ownerOf(principal), mostOfOwner, mostOfAll, spare };
      },
    }));
  }
  /** What stands for the tenant in the names of what is kept outside of its authority. */
  get kept(): string {
    return keptUnder(this.tenant, this.created);
  }

  resources(): ResourceStore {
    const { kept, view: sight, limits } = this;
    return resourcesUnder({ kept, sight, limits, bodies: this.env.BODIES }, this.contentStub());
  }

  secret(name: string): Promise<string | undefined> {
    return readSecret({ env: this.env, snapshot: this.snapshot, stub: () => this.stub() }, name);
  }

  stub(): TenantStub {
    return this.visit.stub(this.created);
  }

  contentStub(): TenantStub {
    return this.visit.contentStub(this.snapshot.created);
  }

  waitUntil(work: Promise<unknown>): void {
    this.visit.waitUntil(work);
  }

  onError(error: unknown): void {
    this.visit.onError(error);
  }
}

type Served = Parameters<CallHost["recheck"]>[1];

/** Why a call cannot be had that names one thing. Lists and completions are of the whole view. */
function lackOf({ method, params }: Call, { backend, view }: Entered): Failure | undefined {
  if (method === "resources/read") return view.sees(uriOf(params)) ? undefined : failure("resourceNotFound");
  const [what, verb] = method.split("/");
  if (verb !== "call" && verb !== "get") return undefined;
  const name = String(params.name);
  const found = verb === "get" ? backend.prompt(name) : backend.tool(name);
  if (found === undefined) return failure("invalidParams", `Unknown ${what?.slice(0, -1)}: ${name}`);
  return isFailure(found) ? found : undefined;
}

/** As the view has it; what is no URI is under no pattern. */
function uriOf({ uri }: JsonObject): string {
  const parsed = parseUri(String(uri));
  return "uri" in parsed ? parsed.uri : "";
}

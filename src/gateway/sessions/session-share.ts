// Owns how an isolate shares a session at an upstream with the other isolates: it asks the object that keeps them, and opens
// what it is lent. Refuses to be asked where an isolate knows the session itself.

import { digest, toBase64Url, type KeyRing } from "../../auth/seal.ts";
import type { CallHost } from "../../calls/call-host.ts";
import type { Session2025 } from "../../mcp-client/session-2025.ts";
import { namespaceOf } from "../../tenants/directory/namespaces.ts";
import { objectsIn } from "../../tenants/directory/placement.ts";
import { inTime } from "../../tenants/isolate/in-time.ts";
import { openKept, sealKept, sessionRing, sessionsName, type KeptSession } from "./kept-session.ts";
import type { SessionClaimed, UpstreamObject } from "./upstream-object.ts";

export type SharedClaim =
  | { readonly state: "lent"; readonly tag: string; readonly session: Session2025; readonly times: number }
  | { readonly state: "make"; readonly tag: string }
  | { readonly state: "wait" | "alone" };

export interface ShareGround extends Omit<KeptSession, "session"> {
  readonly host: Pick<CallHost, "env" | "meant" | "ring" | "principal">;
  /** The upstream's. */
  readonly id: string;
  /** What all who share the session have in common. */
  readonly key: string;
}

/** A call has a session of its own rather than wait for longer: no deadline of it ends what an object does not answer. */
const PATIENCE_MS = 2000;

interface Place {
  readonly key: string;
  readonly owner: string;
}

/** Of one key, for one request. */
export class SessionShare {
  readonly #ground: ShareGround;
  readonly #name: string;
  #place: Promise<Place> | undefined;
  /** What the object seals with, once it was asked. */
  #ring: KeyRing = [];

  constructor(ground: ShareGround) {
    this.#ground = ground;
    this.#name = sessionsName(ground.host.meant, ground.id);
  }

  /**
   * `callMs`: how long a call in it may take. `dead`: one that the upstream does not know, of which the object may not have
   * heard.
   */
  async claim(callMs: number, dead?: string): Promise<SharedClaim> {
    const { meant, env } = this.#ground.host;
    const { key, owner } = await this.#at();
    for (let tries = 0; tries < 2; tries += 1) {
      const claimed = await inTime<SessionClaimed>(
        this.#stub().claim({ key, owner, callMs, meant, name: this.#name }),
        PATIENCE_MS,
      );
      if ("ring" in claimed) this.#ring = await sessionRing(env, claimed.ring);
      if (claimed.state !== "lent") return claimed;
      const { tag, sealed, times } = claimed;
      const kept = await openKept(this.#ring, this.#name, { key, tag, sealed });
      if (kept && tag !== dead) return { state: "lent", tag, session: kept.session, times };
      await (kept ? this.doubted(tag) : this.gone(tag));
    }
    return { state: "alone" };
  }

  /** false: it is nobody else's, so it ends here. */
  async keep(tag: string, session: Session2025, callMs: number): Promise<boolean> {
    const { key } = await this.#at();
    const sealed = await sealKept(this.#ring, this.#name, { key, tag }, { ...this.#ground, session });
    if (sealed !== undefined) return inTime(this.#stub().keep({ key, tag }, sealed, callMs), PATIENCE_MS);
    await this.gone(tag);
    return false;
  }

  /** false: it is not to be used any more. */
  async used(tag: string, callMs: number): Promise<boolean> {
    const { key } = await this.#at();
    return inTime(this.#stub().used({ key, tag }, callMs), PATIENCE_MS);
  }

  async gone(tag: string): Promise<void> {
    const { key } = await this.#at();
    await inTime(this.#stub().gone({ key, tag }), PATIENCE_MS);
  }

  async doubted(tag: string): Promise<void> {
    const { key } = await this.#at();
    await inTime(this.#stub().doubted({ key, tag }), PATIENCE_MS);
  }

  #at(): Promise<Place> {
    return (this.#place ??= this.#find());
  }

  /** Digests have a key: there are credentials in them, which nobody is to try out who reads what is stored. */
  async #find(): Promise<Place> {
    const { host, key } = this.#ground;
    const ring = await sessionRing(host.env, host.ring);
    const secret = toBase64Url(ring[0]?.secret ?? new Uint8Array());
    const keyed = (text: string) => digest(JSON.stringify([secret, text]));
    const [ofKey, owner] = await Promise.all([keyed(key), keyed(`principal ${host.principal.id}`)]);
    return { key: ofKey, owner };
  }

  /** A stub belongs to one request, and whoever tries again makes a new one. */
  #stub(): DurableObjectStub<UpstreamObject> {
    const { env, meant } = this.#ground.host;
    const { jurisdiction, region } = meant.placement;
    const near = region === null ? {} : { locationHint: region as DurableObjectLocationHint };
    return objectsIn(namespaceOf<UpstreamObject>(env, "UpstreamObject"), jurisdiction).getByName(this.#name, near);
  }
}

// An isolate's client of the upstream's Durable Object: claims shared sessions and opens the sealed ones. Only used if
// the isolate has no session itself.

import { digest, toBase64Url, type KeyRing } from "../../auth/seal.ts";
import type { RequestScope } from "../../handlers/request-scope.ts";
import type { Session2025 } from "../../mcp-client/session-2025.ts";
import { namespaceOf } from "../../tenants/directory/namespaces.ts";
import { objectsIn } from "../../tenants/directory/placement.ts";
import { withTimeout } from "../../tenants/cache/with-timeout.ts";
import {
  unsealStoredSession,
  sealStoredSession,
  getSessionKeyRing,
  sessionObjectName,
  type StoredSession,
} from "./stored-session.ts";
import type { SessionClaimResult, UpstreamObject } from "./upstream-object.ts";

export type SharedSessionClaim =
  | { readonly state: "shared"; readonly tag: string; readonly session: Session2025; readonly uses: number }
  | { readonly state: "make"; readonly tag: string }
  | { readonly state: "wait" | "alone" };

export interface SharedSessionContext extends Omit<StoredSession, "session"> {
  readonly host: Pick<RequestScope, "env" | "tenantRef" | "ring" | "principal">;
  readonly id: string;
  /** Everything that calls sharing the session have in common. */
  readonly key: string;
}

/** A call opens its own session rather than wait longer. The call's deadline does not end an unanswered RPC. */
const RPC_TIMEOUT_MS = 2000;

interface HashedKeys {
  readonly key: string;
  readonly owner: string;
}

/** For one session key, within one request. */
export class SharedSessionClient {
  readonly #context: SharedSessionContext;
  readonly #name: string;
  #hashedKeys: Promise<HashedKeys> | undefined;
  /** Seals sessions. Known after the first claim. */
  #ring: KeyRing = [];

  constructor(context: SharedSessionContext) {
    this.#context = context;
    this.#name = sessionObjectName(context.host.tenantRef, context.id);
  }

  /**
   * `callMs` is the maximum duration of a call. `staleTag` names a session that the upstream does not know, which the
   * object may not have heard.
   */
  async claim(callMs: number, staleTag?: string): Promise<SharedSessionClaim> {
    const { tenantRef, env } = this.#context.host;
    const { key, owner } = await this.#getKeys();
    for (let tries = 0; tries < 2; tries += 1) {
      const claimed = await withTimeout<SessionClaimResult>(
        this.#stub().claim({ key, owner, callMs, meant: tenantRef, name: this.#name }),
        RPC_TIMEOUT_MS,
      );
      if ("ring" in claimed) this.#ring = await getSessionKeyRing(env, claimed.ring);
      if (claimed.state !== "shared") return claimed;
      const { tag, sealed, uses } = claimed;
      const stored = await unsealStoredSession(this.#ring, this.#name, { key, tag, sealed });
      if (stored && tag !== staleTag) return { state: "shared", tag, session: stored.session, uses };
      await (stored ? this.suspect(tag) : this.invalidate(tag));
    }
    return { state: "alone" };
  }

  /** Returns false if the session is not shared, so this isolate must end it. */
  async store(tag: string, session: Session2025, callMs: number): Promise<boolean> {
    const { key } = await this.#getKeys();
    const sealed = await sealStoredSession(this.#ring, this.#name, { key, tag }, { ...this.#context, session });
    if (sealed !== undefined) return withTimeout(this.#stub().store({ key, tag }, sealed, callMs), RPC_TIMEOUT_MS);
    await this.invalidate(tag);
    return false;
  }

  /** Returns false if the session must not be used any more. */
  async touch(tag: string, callMs: number): Promise<boolean> {
    const { key } = await this.#getKeys();
    return withTimeout(this.#stub().touch({ key, tag }, callMs), RPC_TIMEOUT_MS);
  }

  async invalidate(tag: string): Promise<void> {
    const { key } = await this.#getKeys();
    await withTimeout(this.#stub().invalidate({ key, tag }), RPC_TIMEOUT_MS);
  }

  async suspect(tag: string): Promise<void> {
    const { key } = await this.#getKeys();
    await withTimeout(this.#stub().suspect({ key, tag }), RPC_TIMEOUT_MS);
  }

  #getKeys(): Promise<HashedKeys> {
    return (this.#hashedKeys ??= this.#computeKeys());
  }

  /**
   * The digests are keyed because their input contains credentials. A reader of the storage must not be able to test
   * guesses.
   */
  async #computeKeys(): Promise<HashedKeys> {
    const { host: requestScope, key } = this.#context;
    const ring = await getSessionKeyRing(requestScope.env, requestScope.ring);
    const secret = toBase64Url(ring[0]?.secret ?? new Uint8Array());
    const keyedDigest = (text: string) => digest(JSON.stringify([secret, text]));
    const [hashedKey, owner] = await Promise.all([
      keyedDigest(key),
      keyedDigest(`principal ${requestScope.principal.id}`),
    ]);
    return { key: hashedKey, owner };
  }

  /** A stub belongs to one request, and must be created anew for a retry. */
  #stub(): DurableObjectStub<UpstreamObject> {
    const { env, tenantRef } = this.#context.host;
    const { jurisdiction, region } = tenantRef.placement;
    const location = region === null ? {} : { locationHint: region as DurableObjectLocationHint };
    return objectsIn(namespaceOf<UpstreamObject>(env, "UpstreamObject"), jurisdiction).getByName(this.#name, location);
  }
}

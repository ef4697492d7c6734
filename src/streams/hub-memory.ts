// Owns what a hub remembers beside its sockets, so that whoever comes back after a reset learns what was missed: one
// small stored value, while somebody listens or may come back. Refuses to touch the sockets.

import type { ChangeEvent, ChangeLogName } from "../tenants/authority/changes.ts";
import { lasts } from "../tenants/isolate/lasting.ts";
import type { Versions } from "./pending.ts";
import type { Hello } from "./wire.ts";

/** For so long a stream that lost its socket is expected back, without anything that lets it go on. */
export const AWAY_MS = 10_000;
/** What was sent may be lost with its socket for so long. */
const ON_ITS_WAY_MS = 1_000;
/** Sessions whose news is remembered for their streams that are away. */
const MAX_SESSIONS = 200;

type News = "changed" | "ended";

interface Kept {
  /** The version of each log up to which the hub was told. */
  heard: Partial<Record<ChangeLogName, number>>;
  check: number;
  /** At least half of the streams that there are. */
  most: number;
  /** When the sockets were found to be gone, milliseconds since the epoch, until one is back. */
  lostAt?: number | undefined;
  sessions?: Record<string, News>;
}

export type MemoryStore = Pick<SyncKvStorage, "get" | "put" | "delete">;

const KEPT = "kept";

export class HubMemory {
  readonly #store: MemoryStore;
  readonly #now: () => number;
  #kept: Kept | undefined;
  #awaitedUntil = 0;
  /** The same of those that were away when it was last told that somebody has to look. */
  #owedUntil = 0;
  #checkedAt = 0;

  /** `sockets`: how many there are. Hibernation leaves them, a reset does not. */
  constructor(store: MemoryStore, sockets: number, now: () => number) {
    this.#store = store;
    this.#now = now;
    this.#kept = store.get<Kept>(KEPT);
    const kept = this.#kept;
    if (!kept || sockets > 0) return;
    if (kept.lostAt === undefined) {
      kept.lostAt = now();
      this.#keep();
    }
    this.#awaitedUntil = this.#owedUntil = kept.lostAt + AWAY_MS;
  }

  /** For how many milliseconds yet streams may be away of which it cannot tell. */
  get awaited(): number {
    return this.#left(this.#awaitedUntil);
  }

  /** The same of those that were not told to look: whoever loses a stream every few seconds holds up nobody's withdrawal. */
  get owed(): number {
    return this.#left(this.#owedUntil);
  }

  #left(until: number): number {
    const now = this.#now();
    return lasts(until, AWAY_MS, now) ? until - now : 0;
  }

  /** A socket was lost whose stream comes back. */
  lost(): void {
    const now = this.#now();
    this.#awaitedUntil = now + AWAY_MS;
    if (now < this.#checkedAt + ON_ITS_WAY_MS) this.#owedUntil = this.#awaitedUntil;
  }

  /** Whether a stream that comes back belongs to a session that ended meanwhile. */
  isOver(session: string | null): boolean {
    return session !== null && this.#kept?.sessions?.[session] === "ended";
  }

  /** What a stream is told that joins; `count` counts all, and is asked only where there may be many more than before. */
  join(session: string | null, atMost: number, count: () => number): Hello & { readonly grew: boolean } {
    const kept = (this.#kept ??= { heard: {}, check: 0, most: 0 });
    const streams = atMost > 2 * kept.most ? count() : 0;
    const grew = streams > 2 * kept.most;
    if (grew) kept.most = streams;
    const isBack = kept.lostAt !== undefined;
    delete kept.lostAt;
    if (isKnown(kept) && (grew || isBack)) this.#keep();
    const { heard, check, most, sessions } = kept;
    const resubscribe = session !== null && sessions?.[session] !== undefined;
    return { streams: most, heard, check, resubscribe, grew };
  }

  /** What a stream knows from those who keep the logs, where the hub was not told yet. */
  learn(versions: Versions): void {
    const kept = this.#kept;
    if (!kept) return;
    kept.heard = { ...versions, ...kept.heard };
    this.#keep();
  }

  /** Takes down what `streams` streams were told. 0: nobody listens or comes back, and nothing is remembered. */
  told({ log, version, check, close }: ChangeEvent, streams: number): number {
    if (check !== null || close !== null) {
      this.#owedUntil = this.#awaitedUntil;
      this.#checkedAt = this.#now();
    }
    const kept = this.#kept;
    if (!kept) return streams;
    const isAwaited = this.awaited > 0;
    const isEnd = close !== null && close.principal === undefined && close.profile === undefined;
    if (streams === 0 && (isEnd || !isAwaited)) {
      this.#kept = undefined;
      this.#store.delete(KEPT);
      return 0;
    }
    kept.heard[log] = version;
    kept.check = Math.max(kept.check, check ?? 0);
    if (!isAwaited) {
      delete kept.sessions;
      if (4 * streams < kept.most) kept.most = streams;
    }
    this.#keep();
    return Math.max(1, streams);
  }

  /** Its session's stream is not here: it is told when it is back. */
  missed(session: string, news: News): void {
    const kept = this.#kept;
    if (!kept || this.awaited === 0) return;
    kept.sessions = { ...kept.sessions, [session]: news };
    // Of so many that nobody knows which: all who come back ask.
    if (Object.keys(kept.sessions).length > MAX_SESSIONS) {
      kept.heard = {};
      kept.sessions = {};
    }
    this.#keep();
  }

  #keep(): void {
    this.#store.put(KEPT, this.#kept);
  }
}

/** A hub of which nobody heard that somebody listens stores nothing: nothing would tell it to forget. */
function isKnown({ heard }: Kept): boolean {
  return heard.definitions !== undefined || heard.content !== undefined;
}

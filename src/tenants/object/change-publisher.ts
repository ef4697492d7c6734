// Sends a tenant's changes to its hubs. The next send starts when the previous one is done, so that a burst becomes one
// event. A policy change is sent once it is in effect. The alarm retries failed sends.

import {
  hubName,
  MAX_SHARDS,
  shardsOf,
  type ChangeEvent,
  type ChangeLog,
  type ChangeLogName,
  type Changes,
  type HubEnv,
  type HubStub,
} from "./changes.ts";
import { namespaceOf } from "../directory/namespaces.ts";
import { objectsIn } from "../directory/placement.ts";
import { withTimeout } from "../cache/with-timeout.ts";
import type { StoreHost } from "./store.ts";

const RETRY_MS = 1000;

export type ChangePublisherHost = Pick<
  StoreHost,
  "sql" | "env" | "storageKey" | "jurisdiction" | "now" | "transaction" | "scheduleAlarm"
>;

export type ChangeKind = "updated" | "listed" | "announced" | "policy";

/** The publisher's access to the change tables. */
export interface ChangeRows extends ChangePublisherHost {
  readonly log: ChangeLogName;
  version(): number;
  /** Records the change under the next version. */
  add(kind: ChangeKind, name: string): void;
  since(version: number): Changes;
  addDue(at: number): void;
  /** Deletes the announcements that are due. `due`: there was one. `next`: when the next one is due. */
  takeDue(now: number): { readonly due: boolean; readonly next: number | undefined };
  /**
   * `listening`: 1 while there may be listeners. `sent`: the version up to which the hubs were sent changes. `shards`:
   * all listeners are at hubs below this number, also listeners of Workers with another HUB_SHARDS.
   */
  state(name: "listening" | "sent" | "shards"): number;
  setState(name: "listening" | "sent" | "shards", value: number): void;
}

export interface ChangePublisher extends ChangeLog {
  listen(since: number | null, shard?: number): Changes;
  /** The number of hubs that receive events. */
  hubs(): number;
  /** See `ChangeMethods.pendingCloseMs`. */
  pendingCloseMs(): Promise<number>;
  flush(): Promise<void>;
  alarm(now: number): Promise<number | undefined>;
}

/**
 * The part of a policy change that hubs apply at once, before the change is in effect. Kept in memory only.
 * `storageKey` names the tenant whose hubs are meant: another tenant may have the name when the event is sent.
 */
interface ImmediateEvent extends Pick<ChangeEvent, "check" | "close"> {
  readonly storageKey: string;
}

export function createChangePublisher(rows: ChangeRows): ChangePublisher {
  const sender = new Sender(rows);
  return {
    updated: (uri, listed) => {
      rows.add("updated", uri);
      if (listed) rows.add("listed", uri);
      sender.scheduleFlush();
    },
    announced: (sections) => {
      for (const section of sections) rows.add("announced", section);
      sender.scheduleFlush();
    },
    policy: (revision, effectiveAt, close) => {
      if (effectiveAt <= rows.now()) rows.add("policy", "");
      else {
        rows.addDue(effectiveAt);
        rows.scheduleAlarm(effectiveAt);
      }
      sender.queueCheck(revision, close ?? null);
    },
    hubs: () => hubCountOf(rows),
    pendingCloseMs: async () => {
      await sender.flush();
      // A hub that does not answer may still have streams.
      return sender.hasUnsent ? RETRY_MS : sender.reconnectWindowMs().catch(() => RETRY_MS);
    },
    listen: (since, shard = 0) => {
      sender.listen(shard);
      return rows.since(since ?? rows.version());
    },
    flush: () => sender.flush(),
    alarm: async (now) => {
      const { due, next } = rows.transaction(() => {
        const taken = rows.takeDue(now);
        if (taken.due) rows.add("policy", "");
        return taken;
      });
      if (due || sender.hasUnsent) await sender.flush();
      return sender.hasUnsent ? Math.min(next ?? Infinity, rows.now() + RETRY_MS) : next;
    },
  };
}

/**
 * Sends events to the hubs while there are listeners. Each answer counts the streams. At zero, nothing is sent until
 * `listen` is called, so a change without listeners costs one row and no call.
 */
class Sender {
  readonly #rows: ChangeRows;
  #sent: number;
  #listening: boolean;
  /** Counts calls of `listen`. If it changed during a send, the answer's stream count is too old. */
  #arrivals = 0;
  #queue: ImmediateEvent[] = [];
  #sending: Promise<void> | undefined;

  constructor(rows: ChangeRows) {
    this.#rows = rows;
    this.#listening = rows.state("listening") === 1;
    // An earlier instance of the object may have ended between a commit and its send.
    this.#sent = this.#listening ? rows.state("sent") : rows.version();
    if (this.hasUnsent) rows.scheduleAlarm(rows.now());
  }

  get hasUnsent(): boolean {
    return this.#listening && (this.#queue.length > 0 || this.#sent < this.#rows.version());
  }

  listen(shard: number): void {
    this.#arrivals += 1;
    if (shard >= hubCountOf(this.#rows)) this.#rows.setState("shards", Math.min(shard + 1, MAX_SHARDS));
    if (this.#listening) return;
    this.#listening = true;
    this.#sent = this.#rows.version();
    this.#rows.transaction(() => {
      this.#rows.setState("listening", 1);
      this.#rows.setState("sent", this.#sent);
    });
  }

  queueCheck(revision: number, close: ChangeEvent["close"]): void {
    if (!this.#listening) return;
    this.#queue.push({ check: revision, close, storageKey: this.#rows.storageKey() });
    this.scheduleFlush();
  }

  /** Sends in a microtask, because the current transaction may still be rolled back. */
  scheduleFlush(): void {
    if (!this.#listening) return;
    // If this instance ends between the commit and the send, the alarm starts the next one.
    this.#rows.scheduleAlarm(this.#rows.now() + RETRY_MS);
    queueMicrotask(() => void this.flush());
  }

  async reconnectWindowMs(): Promise<number> {
    if (!this.#listening) return 0;
    const all = hubStubs(this.#rows, this.#rows.storageKey(), hubCountOf(this.#rows));
    return Math.max(...(await Promise.all(all.map((hub) => withTimeout(hub.reconnectWindowMs())))));
  }

  flush(): Promise<void> {
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = undefined;
    });
    return this.#sending;
  }

  async #sendAll(): Promise<void> {
    try {
      while (this.hasUnsent) await this.#sendNext();
    } catch {
      // A hub is unreachable. Its streams ask for the changes that they missed, and the alarm retries.
      this.#rows.scheduleAlarm(this.#rows.now() + RETRY_MS);
    }
  }

  async #sendNext(): Promise<void> {
    const [first] = this.#queue;
    const { all, ...changes } = this.#rows.since(this.#sent);
    // The log does not reach back to `#sent`. This value of `after` tells every stream that it missed something.
    const after = all ? changes.version : this.#sent;
    const { check = null, close = null, storageKey = this.#rows.storageKey() } = first ?? {};
    const event: ChangeEvent = { ...changes, log: this.#rows.log, after, check, close };
    const arrivals = this.#arrivals;
    const streams = await publishToHubs(this.#rows, storageKey, event, hubCountOf(this.#rows));
    if (first) this.#queue.shift();
    this.#sent = event.version;
    const isCurrent = storageKey === this.#rows.storageKey();
    if (streams === 0 && arrivals === this.#arrivals && isCurrent) {
      this.#listening = false;
      // Closes that are left would reach streams that begin later.
      this.#queue = [];
    }
    this.#rows.transaction(() => {
      this.#rows.setState("sent", event.version);
      if (this.#listening) return;
      this.#rows.setState("listening", 0);
      if (this.#rows.state("shards") > 0) this.#rows.setState("shards", 0);
    });
  }
}

/** The number of hubs of this release, or more if streams listen at hubs of another release. */
function hubCountOf(rows: ChangeRows): number {
  return Math.max(shardsOf(rows.env as HubEnv), rows.state("shards"));
}

type HubContext = Pick<ChangePublisherHost, "env" | "jurisdiction">;

function hubStubs({ env, jurisdiction }: HubContext, storageKey: string, shards: number): HubStub[] {
  const objects = objectsIn(namespaceOf(env, "HubObject"), jurisdiction);
  return Array.from(
    { length: shards },
    (_, shard) => objects.getByName(hubName(storageKey, shard)) as unknown as HubStub,
  );
}

/**
 * Publishes an event to every hub of the tenant. Returns the number of streams at all hubs. Throws if a hub is
 * unreachable.
 */
async function publishToHubs(
  context: HubContext,
  storageKey: string,
  event: ChangeEvent,
  shards = shardsOf(context.env as HubEnv),
): Promise<number> {
  const counts = await Promise.all(hubStubs(context, storageKey, shards).map((hub) => withTimeout(hub.publish(event))));
  return counts.reduce((sum, count) => sum + count, 0);
}

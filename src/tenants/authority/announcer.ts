// Owns when a tenant's changes are sent to its hubs: as soon as the sending before is done, so that a burst becomes one
// event; a change of policy once it is in force. The alarm sends what could not be sent.

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
import { inTime } from "../isolate/in-time.ts";
import type { TableHost } from "./tables.ts";

const RETRY_MS = 1000;

export type AnnouncerHost = Pick<TableHost, "sql" | "env" | "kept" | "jurisdiction" | "now" | "transaction" | "wakeAt">;

export type ChangeKind = "updated" | "listed" | "announced" | "policy";

/** What the announcer reads and writes in the tables of changes. */
export interface ChangeRecord extends AnnouncerHost {
  readonly log: ChangeLogName;
  version(): number;
  /** Records the change under the next version. */
  add(kind: ChangeKind, name: string): void;
  since(version: number): Changes;
  addDue(at: number): void;
  /** Deletes the announcements that are due. `due`: there was one; `next`: when the next one is. */
  takeDue(now: number): { readonly due: boolean; readonly next: number | undefined };
  /**
   * `listening`: 1 while somebody may listen; `sent`: the version up to which the hubs were told; `shards`: below this is
   * the hub of everybody who listens, also of one whose Worker has another HUB_SHARDS.
   */
  fact(name: "listening" | "sent" | "shards"): number;
  setFact(name: "listening" | "sent" | "shards", value: number): void;
}

export interface Announcer extends ChangeLog {
  listen(since: number | null, shard?: number): Changes;
  /** How many hubs are told. */
  hubs(): number;
  /** As `ChangeMethods` has it. */
  told(): Promise<number>;
  flush(): Promise<void>;
  alarm(now: number): Promise<number | undefined>;
}

/**
 * What a change of policy makes the hubs do at once, before it is in force. It is kept in memory only. `kept`: whose hubs:
 * another tenant may have the name when it is sent.
 */
interface Unversioned extends Pick<ChangeEvent, "check" | "close"> {
  readonly kept: string;
}

export function createAnnouncer(record: ChangeRecord): Announcer {
  const sender = new Sender(record);
  return {
    updated: (uri, listed) => {
      record.add("updated", uri);
      if (listed) record.add("listed", uri);
      sender.soon();
    },
    announced: (sections) => {
      for (const section of sections) record.add("announced", section);
      sender.soon();
    },
    policy: (revision, effectiveAt, close) => {
      if (effectiveAt <= record.now()) record.add("policy", "");
      else {
        record.addDue(effectiveAt);
        record.wakeAt(effectiveAt);
      }
      sender.check(revision, close ?? null);
    },
    hubs: () => hubsOf(record),
    told: async () => {
      await sender.flush();
      // A hub that does not answer is one of which nobody knows.
      return sender.unsent ? RETRY_MS : sender.away().catch(() => RETRY_MS);
    },
    listen: (since, shard = 0) => {
      sender.listen(shard);
      return record.since(since ?? record.version());
    },
    flush: () => sender.flush(),
    alarm: async (now) => {
      const { due, next } = record.transaction(() => {
        const taken = record.takeDue(now);
        if (taken.due) record.add("policy", "");
        return taken;
      });
      if (due || sender.unsent) await sender.flush();
      return sender.unsent ? Math.min(next ?? Infinity, record.now() + RETRY_MS) : next;
    },
  };
}

/**
 * Sends events to the hubs while somebody listens. Each answer says how many streams there are; where there are none,
 * it sends nothing until `listen` is called. Without listeners a change costs one row and no call.
 */
class Sender {
  readonly #record: ChangeRecord;
  #sent: number;
  #listening: boolean;
  /** Grows when somebody begins to listen: the count of streams in an answer that was asked for before lacks them. */
  #arrivals = 0;
  #waiting: Unversioned[] = [];
  #sending: Promise<void> | undefined;

  constructor(record: ChangeRecord) {
    this.#record = record;
    this.#listening = record.fact("listening") === 1;
    // An earlier instance of the object may have ended between a commit and its sending.
    this.#sent = this.#listening ? record.fact("sent") : record.version();
    if (this.unsent) record.wakeAt(record.now());
  }

  get unsent(): boolean {
    return this.#listening && (this.#waiting.length > 0 || this.#sent < this.#record.version());
  }

  listen(shard: number): void {
    this.#arrivals += 1;
    if (shard >= hubsOf(this.#record)) this.#record.setFact("shards", Math.min(shard + 1, MAX_SHARDS));
    if (this.#listening) return;
    this.#listening = true;
    this.#sent = this.#record.version();
    this.#record.transaction(() => {
      this.#record.setFact("listening", 1);
      this.#record.setFact("sent", this.#sent);
    });
  }

  check(check: number, close: ChangeEvent["close"]): void {
    if (!this.#listening) return;
    this.#waiting.push({ check, close, kept: this.#record.kept() });
    this.soon();
  }

  /** Sends in a microtask: the transaction that is under way may yet be rolled back. */
  soon(): void {
    if (!this.#listening) return;
    // If this instance ends between the commit and the sending, the alarm wakes the next one.
    this.#record.wakeAt(this.#record.now() + RETRY_MS);
    queueMicrotask(() => void this.flush());
  }

  async away(): Promise<number> {
    if (!this.#listening) return 0;
    const all = hubs(this.#record, this.#record.kept(), hubsOf(this.#record));
    return Math.max(...(await Promise.all(all.map((hub) => inTime(hub.away())))));
  }

  flush(): Promise<void> {
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = undefined;
    });
    return this.#sending;
  }

  async #sendAll(): Promise<void> {
    try {
      while (this.unsent) await this.#sendNext();
    } catch {
      // A hub could not be reached: its streams ask for what they missed, and the alarm tries again.
      this.#record.wakeAt(this.#record.now() + RETRY_MS);
    }
  }

  async #sendNext(): Promise<void> {
    const [first] = this.#waiting;
    const { all, ...changes } = this.#record.since(this.#sent);
    // The record does not reach back to `#sent`: this value of `after` tells every stream that it missed something.
    const after = all ? changes.version : this.#sent;
    const { check = null, close = null, kept = this.#record.kept() } = first ?? {};
    const event: ChangeEvent = { ...changes, log: this.#record.log, after, check, close };
    const arrivals = this.#arrivals;
    const streams = await tellHubs(this.#record, kept, event, hubsOf(this.#record));
    if (first) this.#waiting.shift();
    this.#sent = event.version;
    if (streams === 0 && arrivals === this.#arrivals) this.#listening = false;
    this.#record.transaction(() => {
      this.#record.setFact("sent", event.version);
      if (this.#listening) return;
      this.#record.setFact("listening", 0);
      if (this.#record.fact("shards") > 0) this.#record.setFact("shards", 0);
    });
  }
}

/** As many as this release has, or more where somebody listens at one of another. */
function hubsOf(record: ChangeRecord): number {
  return Math.max(shardsOf(record.env as HubEnv), record.fact("shards"));
}

type HubGround = Pick<AnnouncerHost, "env" | "jurisdiction">;

function hubs({ env, jurisdiction }: HubGround, kept: string, shards: number): HubStub[] {
  const objects = objectsIn(namespaceOf(env, "HubObject"), jurisdiction);
  return Array.from({ length: shards }, (_, shard) => objects.getByName(hubName(kept, shard)) as unknown as HubStub);
}

/** Tells every hub of the tenant; gives the number of streams at all of them. Throws when one cannot be reached. */
export async function tellHubs(
  ground: HubGround,
  kept: string,
  event: ChangeEvent,
  shards = shardsOf(ground.env as HubEnv),
): Promise<number> {
  const counts = await Promise.all(hubs(ground, kept, shards).map((hub) => inTime(hub.publish(event))));
  return counts.reduce((sum, count) => sum + count, 0);
}

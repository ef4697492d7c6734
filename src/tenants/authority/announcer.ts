// Owns when a tenant's changes are sent to its hub: what is committed goes out as soon as the last sending is done, so
// that a burst becomes one event; a change of policy when it is in force. What could not be sent is sent by the alarm.

import {
  hubName,
  shardsOf,
  type ChangeEvent,
  type ChangeLog,
  type Changes,
  type HubEnv,
  type HubStub,
} from "./changes.ts";
import { objectsIn } from "../directory/placement.ts";
import type { TableHost } from "./tables.ts";

const RETRY_MS = 1000;

export type AnnouncerHost = Pick<
  TableHost,
  "sql" | "env" | "tenant" | "jurisdiction" | "now" | "transaction" | "wakeAt"
>;

export type ChangeKind = "updated" | "listed" | "announced" | "policy";

/** The rows, as the announcer uses them. */
export interface ChangeRecord extends AnnouncerHost {
  version(): number;
  /** Gives the change a version of its own. */
  add(kind: ChangeKind, name: string): void;
  since(version: number): Changes;
  addDue(at: number): void;
  /** Takes what is due by now; says when the next is. */
  takeDue(now: number): { readonly due: boolean; readonly next: number | undefined };
  fact(name: "listening" | "sent"): number;
  setFact(name: "listening" | "sent", value: number): void;
}

export interface Announcer extends Omit<ChangeLog, "watch"> {
  listen(since: number | null): Changes;
  flush(): Promise<void>;
  alarm(now: number): Promise<number | undefined>;
}

type Unversioned = Pick<ChangeEvent, "check" | "close">;

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
    listen: (since) => {
      sender.listen();
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

class Sender {
  readonly #record: ChangeRecord;
  #sent: number;
  #listening: boolean;
  /** Grows when somebody begins to listen: an answer to what was sent before says nothing about them. */
  #arrivals = 0;
  #waiting: Unversioned[] = [];
  #sending: Promise<void> | undefined;

  constructor(record: ChangeRecord) {
    this.#record = record;
    this.#listening = record.fact("listening") === 1;
    // An earlier instance may have ended between a commit and its sending.
    this.#sent = this.#listening ? record.fact("sent") : record.version();
    if (this.unsent) record.wakeAt(record.now());
  }

  get unsent(): boolean {
    return this.#listening && (this.#waiting.length > 0 || this.#sent < this.#record.version());
  }

  listen(): void {
    this.#arrivals += 1;
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
    this.#waiting.push({ check, close });
    this.soon();
  }

  /** After the transaction that is under way, which may yet be rolled back. */
  soon(): void {
    if (!this.#listening) return;
    // Should this instance end between the commit and the sending, the next one is woken for it.
    this.#record.wakeAt(this.#record.now() + RETRY_MS);
    queueMicrotask(() => void this.flush());
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
      // The hub is away: its streams ask for what they missed, and the alarm tries again.
      this.#record.wakeAt(this.#record.now() + RETRY_MS);
    }
  }

  async #sendNext(): Promise<void> {
    const [first] = this.#waiting;
    const { all, ...changes } = this.#record.since(this.#sent);
    // What is not known any more was missed by every stream: each asks for what differs for it.
    const after = all ? changes.version : this.#sent;
    const event: ChangeEvent = { ...changes, after, check: null, close: null, ...first };
    const arrivals = this.#arrivals;
    const streams = await publish(this.#record, event);
    if (first) this.#waiting.shift();
    this.#sent = event.version;
    if (streams === 0 && arrivals === this.#arrivals) this.#listening = false;
    this.#record.transaction(() => {
      this.#record.setFact("sent", event.version);
      if (!this.#listening) this.#record.setFact("listening", 0);
    });
  }
}

async function publish({ env, tenant, jurisdiction }: AnnouncerHost, event: ChangeEvent): Promise<number> {
  const hubs = env as HubEnv;
  const objects = objectsIn(hubs.HUBS, jurisdiction);
  const counts = await Promise.all(
    Array.from({ length: shardsOf(hubs) }, (_, shard) =>
      (objects.getByName(hubName(tenant, shard)) as unknown as HubStub).publish(event),
    ),
  );
  return counts.reduce((sum, count) => sum + count, 0);
}

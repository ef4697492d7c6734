// Owns a notification stream of either era while it is open: what changed in the tenant, told as far as the stream
// asked for it and its view sees it. Before anything is told, whoever listens must still be admitted.
// https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions

import { SYSTEM_CLOCK, type Clock } from "../mcp-client/clock.ts";
import type { ChangeLogName, Changes, ChangedSection } from "../tenants/authority/changes.ts";
import { backOff } from "./back-off.ts";
import { HeldSocket, type Opened } from "./held-socket.ts";
import { later, merged, nothing, type Pending, type Versions } from "./pending.ts";
import { persistently } from "./persistently.ts";
import { AWAY_MS } from "./hub-memory.ts";
import { CLOSE, type Hello, type HubMessage } from "./wire.ts";

/** How long changes are collected, so that a burst is told once. */
const COALESCE_MS = 15;
/** The longest random wait before a look: streams of one isolate spread, and the first one's look serves the others. */
const SPREAD_MS = 40;
/** For each stream that a hub is known to have, which may have twice as many: a thousand come back in a second or two. */
const BACK_MS = 2;
const LONGEST_BACK_MS = 8000;
/** How seldom a stream without a hub looks again, at least. */
const LEAST_LEASE_MS = 250;

export interface Filter {
  readonly tools: boolean;
  readonly prompts: boolean;
  readonly resources: boolean;
  /** Normalized URI to how the client wrote it: notifications repeat the client's spelling. */
  readonly uris: ReadonlyMap<string, string>;
}

/** A digest of each list of definitions: equal texts, equal lists. */
export type Digests = Readonly<Record<ChangedSection, string>>;

/** What one principal sees of a tenant in one profile, as far as a stream needs it. */
export interface StreamSight {
  readonly digests: Digests;
  /** The revision of the policy that was looked at. */
  readonly revision: number;
  /** For how many milliseconds yet it holds. */
  readonly leaseMs: number;
  sees(uri: string): boolean;
}

export interface FeedHost {
  /** Opens the stream's socket at the hub. `again`: it was lost, and must not replace a newer stream of its session. */
  connect(again: boolean): Promise<Opened>;
  /** Tells those who keep the logs that somebody listens. Resolves to what changed since these versions; null: since now. */
  listen(since: Versions | null): Promise<Heard>;
  /**
   * What the listener sees now; null: they are no longer admitted. `revision`: the least revision of the policy to look
   * at; Infinity: the newest, which the authority was asked for from now on.
   */
  look(revision: number): Promise<StreamSight | null>;
  /** What the stream is told of. Read again whenever the session's subscriptions changed. */
  filter(): Promise<Filter>;
  /** Sends one notification. `state`: where a stream that received it goes on. The next one waits for it. */
  tell(method: string, params: Record<string, unknown>, state: FeedState): void | Promise<void>;
  ended(why: "replaced" | "withdrawn" | "over" | "lost"): void;
  /** Called once when the feed is over, whoever ended it. */
  closed?(): void;
}

export type Heard = Readonly<Record<ChangeLogName, Changes>>;

/** What a stream has been told: enough to go on from there. */
export interface FeedState {
  readonly versions: Versions;
  readonly digests: Digests;
}

const METHODS: Readonly<Record<ChangedSection, string>> = {
  tools: "notifications/tools/list_changed",
  prompts: "notifications/prompts/list_changed",
  resources: "notifications/resources/list_changed",
};
const UPDATED = "notifications/resources/updated";
const SECTIONS: readonly ChangedSection[] = ["tools", "prompts", "resources"];

const LOGS: readonly ChangeLogName[] = ["definitions", "content"];

const UNKNOWN: Digests = { tools: "", prompts: "", resources: "" };

export class Feed {
  readonly #host: FeedHost;
  readonly #clock: Clock;
  readonly #socket: HeldSocket;
  #hello: Hello | undefined;
  /** How many streams the hub has, or half of that. */
  #streams = 0;
  /** The newest revision of the policy that was looked at. */
  #seen = 0;
  #failures = 0;
  #filter: Filter | undefined;
  #state: FeedState | undefined;
  #pending: Pending = nothing();
  /** An event was lost: those who keep the logs have to be asked what changed. */
  #missed = false;
  /** The newest versions heard of. An event whose `after` is greater shows that one in between was missed. */
  readonly #heard = { definitions: 0, content: 0 };
  /** The versions of the last events taken, to recognize one that is repeated because another hub did not get it. */
  readonly #taken = { definitions: 0, content: 0 };
  /** As far as is known, a change of policy is written but not in force yet. */
  #due = false;
  #work: Promise<void> = Promise.resolve();
  /** Takes back what is about to be told. */
  #timer: (() => void) | undefined;
  /** Takes back looking whether it may go on without a hub. */
  #alone: (() => void) | undefined;
  #closed = false;

  constructor(host: FeedHost, clock = SYSTEM_CLOCK) {
    this.#host = host;
    this.#clock = clock;
    const hooks = {
      message: (message: unknown) => {
        this.#hear(message as HubMessage);
      },
      lost: () => {
        this.#standAlone(AWAY_MS);
      },
      reopened: () => {
        this.#stopStanding();
      },
      ended: (code: number) => {
        this.#end(code === CLOSE.replaced ? "replaced" : code === CLOSE.withdrawn ? "withdrawn" : "lost");
      },
      // The only one of a hub does not wait for others.
      spread: () => Math.min(BACK_MS * (this.#streams - 1), LONGEST_BACK_MS),
    };
    this.#socket = new HeldSocket((again) => this.#connect(again), hooks, clock);
  }

  async #connect(again: boolean): Promise<Opened> {
    const opened = await this.#host.connect(again);
    if ("refused" in opened) return opened;
    this.#hello = opened.hello ? (JSON.parse(opened.hello) as Hello) : undefined;
    this.#streams = this.#hello?.streams ?? 0;
    if (again) this.#greet();
    return opened;
  }

  /** The hub is there again. Who missed nothing asks nobody; what the hub does not know, those who keep the logs do. */
  #greet(): void {
    const { heard = {}, check = 0, resubscribe = false } = this.#hello ?? {};
    const pending = this.#pending;
    this.#missed ||= LOGS.some((log) => heard[log] !== this.#heard[log]);
    pending.resubscribe ||= resubscribe;
    for (const log of LOGS) this.#heard[log] = Math.max(this.#heard[log], heard[log] ?? 0);
    pending.revision = Math.max(pending.revision, this.#leastToSee(check));
    if (this.#missed || resubscribe || pending.revision > 0) this.#soon(this.#clock.random() * SPREAD_MS);
  }

  /** The revision of the policy that it must look at, where the hub was told of `check`; 0: none. */
  #leastToSee(check: number): number {
    if (!this.#isTold) return Infinity;
    return check > this.#seen ? check : 0;
  }

  /** Whether the hub knows how far it was told. */
  get #isTold(): boolean {
    return LOGS.every((log) => this.#hello?.heard[log] !== undefined);
  }

  /**
   * A hub that was reset, and one that has its first stream, learns where the logs are. One that was reset since they were asked
   * does not: meanwhile it may have said that nobody listens.
   */
  #report(): void {
    if (!this.#hello || this.#isTold || this.#missed) return;
    this.#hello = { ...this.#hello, heard: { ...this.#heard } };
    this.#socket.send(JSON.stringify(this.#heard));
  }

  /** No hub can end it: from `wait` milliseconds on it lives by leases, as requests do. */
  #standAlone(wait: number): void {
    this.#alone = this.#clock.after(wait, () => {
      this.#host.look(Infinity).then(
        (sight) => {
          if (!sight) this.#end("withdrawn");
          else if (this.#alone) this.#standAlone(Math.max(LEAST_LEASE_MS, sight.leaseMs));
        },
        () => {
          if (this.#alone) this.#standAlone(AWAY_MS);
        },
      );
    });
  }

  #stopStanding(): void {
    this.#alone?.();
    this.#alone = undefined;
  }

  /**
   * Begins the stream and resolves to where it begins, or to the HTTP status of a refusal. Listens before it looks, so
   * that no change falls between the two. `from`: where an earlier stream stopped.
   */
  async start(from: FeedState | undefined): Promise<number | FeedState> {
    const refused = await persistently(() => this.#socket.start());
    if (refused !== undefined) return refused;
    const [changes, sight, filter] = await Promise.all([
      persistently(() => this.#host.listen(from?.versions ?? null)),
      this.#host.look(0),
      this.#host.filter(),
    ]).catch((error: unknown) => {
      // Without this the socket would stay, and be reopened for ever, though no stream began.
      this.close();
      throw error;
    });
    if (!sight) return this.#refuse();
    this.#seen = sight.revision;
    this.#filter = filter;
    // While a change is not in force yet, what the client listed may be older than what is seen here. Unknown digests
    // match no list, so every list is told once the change is in force.
    const { definitions, content } = changes;
    const digests = from?.digests ?? (definitions.due ? UNKNOWN : sight.digests);
    this.#state = { versions: { definitions: definitions.version, content: content.version }, digests };
    this.#know(changes, from !== undefined);
    this.#report();
    // A deployment may have changed lists in code without any new version: compare the digests.
    if (from) this.#pending.policy ||= !definitions.due;
    // Tells what was just taken, and what was heard while `#state` was not set.
    this.#soon(0);
    return this.#state;
  }

  #know(changes: Heard, take: boolean): void {
    for (const log of LOGS) {
      this.#heard[log] = Math.max(this.#heard[log], changes[log].version);
      if (take) this.#take(log, changes[log]);
    }
  }

  #refuse(): number {
    this.close();
    return 403;
  }

  get state(): FeedState | undefined {
    return this.#state;
  }

  close(): void {
    if (!this.#closed) this.#host.closed?.();
    this.#closed = true;
    this.#timer?.();
    this.#stopStanding();
    this.#socket.close();
  }

  #end(why: Parameters<FeedHost["ended"]>[0]): void {
    if (this.#closed) return;
    this.close();
    this.#host.ended(why);
  }

  #hear(message: HubMessage): void {
    if ("resubscribe" in message) {
      this.#pending.resubscribe = true;
      return this.#soon(0);
    }
    if ("streams" in message) {
      this.#streams = message.streams;
      return;
    }
    const { log, check, after, version } = message;
    // Of another release: whatever it tells, a look shows what is.
    if (!LOGS.includes(log)) return this.#lookAnew();
    if (check !== null) this.#pending.revision = Math.max(this.#pending.revision, check);
    // Before the stream has begun nothing can be missed, because what it begins with is newer.
    if (this.#state && this.#heard[log] < after) {
      this.#missed = true;
      this.#pending.revision = Infinity;
    }
    this.#heard[log] = Math.max(this.#heard[log], version);
    const isRepeated = version > after && version === this.#taken[log];
    if (!isRepeated) this.#take(log, { ...message, all: false });
    this.#taken[log] = version;
    return this.#soon(check === null ? COALESCE_MS : this.#clock.random() * SPREAD_MS);
  }

  #lookAnew(): void {
    this.#missed = true;
    this.#pending.revision = Infinity;
    this.#soon(this.#clock.random() * SPREAD_MS);
  }

  #take(log: ChangeLogName, changes: Changes): void {
    const pending = this.#pending;
    for (const uri of changes.updated) pending.updated.add(uri);
    for (const uri of changes.listed) pending.listed.add(uri);
    for (const section of changes.announced) pending.announced.add(section);
    pending.policy ||= changes.policy || changes.all;
    pending.all ||= changes.all;
    if (log === "definitions") this.#due = changes.due;
    pending.versions[log] = Math.max(pending.versions[log], changes.version);
  }

  /** Flushes after `wait` milliseconds. A flush that is due already stands, except where this one comes at once. */
  #soon(wait: number): void {
    if (this.#closed || !this.#state) return;
    if (wait > 0 && this.#timer !== undefined) return;
    this.#timer?.();
    this.#timer = this.#clock.after(wait, () => {
      this.#timer = undefined;
      this.#work = this.#work
        .then(() => this.#flush())
        .then(
          () => {
            this.#failures = 0;
          },
          () => {
            // The authority is away: try again, and tell nothing meanwhile.
            this.#soon(backOff(this.#failures, this.#clock));
            this.#failures += 1;
          },
        );
    });
  }

  async #flush(): Promise<void> {
    const missed = this.#missed;
    this.#missed = false;
    let pending = nothing();
    try {
      if (missed && this.#state) {
        this.#know(await this.#host.listen(this.#state.versions), true);
        // What was missed meanwhile is asked about before anything is told: their answer may be older.
        if (this.#missed) return await this.#flush();
        this.#report();
        this.#pending.resubscribe = true;
      }
      pending = this.#pending;
      this.#pending = nothing();
      await this.#tell(pending);
    } catch (error) {
      this.#missed ||= missed;
      this.#pending = merged(pending, this.#pending);
      throw error;
    }
  }

  async #tell(pending: Pending): Promise<void> {
    if (pending.resubscribe) this.#filter = await this.#host.filter();
    const sight = await this.#host.look(pending.revision);
    const before = this.#state;
    const filter = this.#filter;
    if (this.#closed || !before || !filter) return;
    if (!sight) return this.#end("withdrawn");
    this.#seen = Math.max(this.#seen, sight.revision);
    const changed = SECTIONS.filter((section) => filter[section] && hasChanged(section, pending, before, sight));
    // While a change is due, this view may show it already, and the client's next request may not. Forgetting these
    // digests has the lists told again when the change is in force.
    const unsure = this.#due ? Object.fromEntries(changed.map((section) => [section, ""])) : {};
    const after = {
      versions: later(before.versions, pending.versions),
      digests: pending.policy ? { ...sight.digests, ...unsure } : before.digests,
    };
    const told = [
      ...changed.map((section) => ({ method: METHODS[section], params: {} })),
      ...updatedIn(pending, filter, sight).map((uri) => ({ method: UPDATED, params: { uri } })),
    ];
    this.#state = after;
    // Only the last notification carries the new state: a stream cut in between goes on from before all of them.
    for (const [at, { method, params }] of told.entries()) {
      await this.#host.tell(method, params, at === told.length - 1 ? after : before);
    }
  }
}

function hasChanged(section: ChangedSection, pending: Pending, before: FeedState, sight: StreamSight): boolean {
  if (pending.announced.has(section)) return true;
  if (pending.policy && sight.digests[section] !== before.digests[section]) return true;
  return section === "resources" && (pending.all || [...pending.listed].some((uri) => sight.sees(uri)));
}

/** The updated URIs that the client subscribed to and may see, as the client wrote them. */
function updatedIn(pending: Pending, filter: Filter, sight: StreamSight): string[] {
  const uris = pending.all ? [...filter.uris.keys()] : [...pending.updated];
  return uris.flatMap((uri) => (sight.sees(uri) ? (filter.uris.get(uri) ?? []) : []));
}

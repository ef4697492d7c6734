// Owns a notification stream of either era while it is open: what changed in the tenant, told as far as the stream
// asked for it and its view sees it. Before anything is told, whoever listens must still be admitted.
// https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions

import { SYSTEM_CLOCK, type Clock } from "../mcp-client/clock.ts";
import type { ChangeLogName, Changes, ChangedSection } from "../tenants/authority/changes.ts";
import { backOff } from "./back-off.ts";
import { HeldSocket, type Opened } from "./held-socket.ts";
import { later, merged, nothing, type Pending, type Versions } from "./pending.ts";
import { persistently } from "./persistently.ts";
import { CLOSE, type HubMessage } from "./wire.ts";

/** How long changes are collected, so that a burst is told once. */
const COALESCE_MS = 15;
/** The longest random wait before a look: streams of one isolate spread, and the first one's look serves the others. */
const SPREAD_MS = 40;
/** Over how long the streams come back that lose a hub at the same moment. */
const BACK_MS = 4000;
/** When a stream that lost its hub looks whether it may go on: after it came back, and before the hub no longer expects it. */
const LOOK_MS = 6000;
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
  #failures = 0;
  #filter: Filter | undefined;
  #state: FeedState | undefined;
  #pending: Pending = nothing();
  /** The newest versions heard of on this socket: an event whose `after` is greater shows that one in between was missed. */
  #heard: Partial<Record<ChangeLogName, number>> = {};
  /** The versions of the last events taken, to recognize one that is repeated because another hub did not get it. */
  readonly #taken = { definitions: 0, content: 0 };
  /** As far as is known, a change of policy is written but not in force yet. */
  #due = false;
  #work: Promise<void> = Promise.resolve();
  /** Takes back what is about to be told. */
  #timer: (() => void) | undefined;
  /** It lost its hub and does not have it again. */
  #isAlone = false;
  /** Takes back looking whether it may go on. */
  #lookTimer: (() => void) | undefined;
  #closed = false;

  constructor(host: FeedHost, clock = SYSTEM_CLOCK) {
    this.#host = host;
    this.#clock = clock;
    const hooks = {
      message: (message: unknown) => {
        this.#hear(message as HubMessage);
      },
      lost: () => {
        this.#isAlone = true;
        this.#lookIn(LOOK_MS);
      },
      reopened: () => {
        this.#isAlone = false;
        this.#heard = {};
        this.#tellAll();
      },
      ended: (code: number) => {
        this.#end(code === CLOSE.replaced ? "replaced" : code === CLOSE.withdrawn ? "withdrawn" : "lost");
      },
      spreadMs: BACK_MS,
    };
    this.#socket = new HeldSocket((again) => host.connect(again), hooks, clock);
  }

  /** It may have missed anything: its client is told to list again, and to read again what it subscribed to. */
  #tellAll(revision = 0): void {
    const pending = this.#pending;
    pending.all = true;
    pending.resubscribe = true;
    pending.revision = Math.max(pending.revision, revision);
    this.#soon(this.#clock.random() * SPREAD_MS);
  }

  /**
   * While it has no hub, none can end it: it lives by leases, as requests do. When it has one again it looks once more, because
   * it may have been withdrawn meanwhile.
   */
  #lookIn(wait: number): void {
    if (this.#closed) return;
    this.#lookTimer ??= this.#clock.after(wait, () => {
      this.#lookTimer = undefined;
      const isAlone = this.#isAlone;
      this.#host.look(Infinity).then(
        (sight) => {
          if (!sight) this.#end("withdrawn");
          else if (isAlone) this.#lookIn(Math.max(LEAST_LEASE_MS, sight.leaseMs));
        },
        () => {
          this.#lookIn(LOOK_MS);
        },
      );
    });
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
    this.#filter = filter;
    // While a change is not in force yet, what the client listed may be older than what is seen here. Unknown digests
    // match no list, so every list is told once the change is in force.
    const { definitions, content } = changes;
    const digests = from?.digests ?? (definitions.due ? UNKNOWN : sight.digests);
    this.#state = { versions: { definitions: definitions.version, content: content.version }, digests };
    for (const log of LOGS) {
      this.#heard[log] = Math.max(this.#heard[log] ?? 0, changes[log].version);
      if (from) this.#take(log, changes[log]);
    }
    // A deployment may have changed lists in code without any new version: compare the digests.
    if (from) this.#pending.policy ||= !definitions.due;
    // Tells what was just taken, and what was heard while `#state` was not set.
    this.#soon(0);
    return this.#state;
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
    this.#lookTimer?.();
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
    const { log, check, after, version } = message;
    // The event is of a later release, which has another log.
    if (!LOGS.includes(log)) return this.#tellAll(Infinity);
    if (check !== null) this.#pending.revision = Math.max(this.#pending.revision, check);
    const heard = this.#heard[log];
    if (heard !== undefined && heard < after) this.#tellAll(Infinity);
    this.#heard[log] = Math.max(heard ?? 0, version);
    const isRepeated = version > after && version === this.#taken[log];
    if (!isRepeated) this.#take(log, { ...message, all: false });
    this.#taken[log] = version;
    return this.#soon(check === null ? COALESCE_MS : this.#clock.random() * SPREAD_MS);
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
    const pending = this.#pending;
    this.#pending = nothing();
    try {
      await this.#tell(pending);
    } catch (error) {
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
    const changed = SECTIONS.filter((section) => filter[section] && hasChanged(section, pending, before, sight));
    // While a change is due, this view may show it already, and the client's next request may not. Forgetting these
    // digests has the lists told again when the change is in force.
    const unsure = this.#due ? Object.fromEntries(changed.map((section) => [section, ""])) : {};
    const seen = pending.policy ? { ...sight.digests, ...unsure } : before.digests;
    // After a gap it is unknown, too, whether a change is due.
    const digests = pending.all ? UNKNOWN : seen;
    const after = { versions: later(before.versions, pending.versions), digests };
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
  if (pending.all || pending.announced.has(section)) return true;
  if (pending.policy && sight.digests[section] !== before.digests[section]) return true;
  return section === "resources" && [...pending.listed].some((uri) => sight.sees(uri));
}

/** The updated URIs that the client subscribed to and may see, as the client wrote them. */
function updatedIn(pending: Pending, filter: Filter, sight: StreamSight): string[] {
  const uris = pending.all ? [...filter.uris.keys()] : [...pending.updated];
  return uris.flatMap((uri) => (sight.sees(uri) ? (filter.uris.get(uri) ?? []) : []));
}

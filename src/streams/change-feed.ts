// An open notification stream of either era. It sends the tenant's changes that the stream requested and its view may
// see. Before each send it checks that the listener is still admitted.
// https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions

import { SYSTEM_CLOCK, type Clock } from "../mcp-client/clock.ts";
import type { ListenFilter } from "../protocol/methods/subscriptions.ts";
import type { ChangeLogName, Changes, ChangedSection } from "../tenants/object/changes.ts";
import { backOff, ReconnectingWebSocket, type OpenedSocket } from "./reconnecting-web-socket.ts";
import {
  maxVersions,
  mergePendingChanges,
  createPendingChanges,
  type PendingChanges,
  type ChangeVersions,
} from "./pending-changes.ts";
import { withRetries } from "./with-retries.ts";
import { CLOSE, type HubMessage } from "./socket-messages.ts";

/** How long changes are collected, so that a burst is sent once. */
const COALESCE_MS = 15;
/**
 * The longest random wait before an access check. It spreads the streams of an isolate, so that the first one's check
 * serves the others.
 */
const JITTER_MS = 40;
/** Streams that lose a hub at the same moment reconnect over this time. */
const RECONNECT_SPREAD_MS = 4000;
/** When a stream that lost its hub checks its access: after it reconnected, and before the hub stops expecting it. */
const ACCESS_CHECK_MS = 6000;
/** The shortest interval between access checks of a stream without a hub. */
const MIN_LEASE_MS = 250;

/** A digest of each list of definitions: equal digests mean equal lists. */
export type Digests = Readonly<Record<ChangedSection, string>>;

/** One principal's view of a tenant in one profile, as far as a stream needs it. */
export interface StreamAccess {
  readonly digests: Digests;
  /** How many milliseconds the lease still lasts. */
  readonly leaseMs: number;
  canSee(uri: string): boolean;
}

export interface FeedHost {
  /**
   * Opens the stream's socket at the hub. `isReconnect`: the socket was lost, and must not replace a newer stream of
   * its session.
   */
  connect(isReconnect: boolean): Promise<OpenedSocket>;
  /** Registers the listener with the change logs. Resolves to the changes since these versions; null: since now. */
  listen(since: ChangeVersions | null): Promise<TenantChanges>;
  /**
   * The listener's current view; null: the listener is no longer admitted. `revision`: the lowest acceptable revision of the
   * policy. Infinity: the newest one, which the tenant object is asked for after this call.
   */
  getAccess(revision: number): Promise<StreamAccess | null>;
  /** The changes that the stream wants. Read again whenever the session's subscriptions changed. */
  filter(): Promise<ListenFilter>;
  /**
   * Sends one notification. `state`: where a stream that received it continues. The next notification waits for this
   * one.
   */
  notify(method: string, params: Record<string, unknown>, state: FeedState): void | Promise<void>;
  onEnd(reason: "replaced" | "withdrawn" | "over" | "lost"): void;
  /** Called once when the feed ends, whatever ended it. */
  onClose?(): void;
}

export type TenantChanges = Readonly<Record<ChangeLogName, Changes>>;

/** The changes that a stream has already sent: enough to continue from there. */
export interface FeedState {
  readonly versions: ChangeVersions;
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

const UNKNOWN_DIGESTS: Digests = { tools: "", prompts: "", resources: "" };

export class ChangeFeed {
  readonly #host: FeedHost;
  readonly #clock: Clock;
  readonly #socket: ReconnectingWebSocket;
  #failures = 0;
  #filter: ListenFilter | undefined;
  #state: FeedState | undefined;
  #pending: PendingChanges = createPendingChanges();
  /**
   * The newest version received of each log on this socket. An event with a greater `after` shows that an event in
   * between was missed.
   */
  #lastVersions: Partial<Record<ChangeLogName, number>> = {};
  /** The versions of the last processed events. An event is repeated if another hub did not get it. */
  readonly #lastTaken = { definitions: 0, content: 0 };
  /** As far as known, a policy change was written but is not in effect yet. */
  #due = false;
  #work: Promise<void> = Promise.resolve();
  #cancelFlush: (() => void) | undefined;
  /** The stream lost its hub and has not reconnected yet. */
  #isDisconnected = false;
  #cancelAccessCheck: (() => void) | undefined;
  #closed = false;

  constructor(host: FeedHost, clock = SYSTEM_CLOCK) {
    this.#host = host;
    this.#clock = clock;
    const hooks = {
      onMessage: (message: unknown) => {
        this.#onMessage(message as HubMessage);
      },
      onDisconnect: () => {
        this.#isDisconnected = true;
        this.#scheduleAccessCheck(ACCESS_CHECK_MS);
      },
      onReconnect: () => {
        this.#isDisconnected = false;
        this.#lastVersions = {};
        this.#invalidateAll();
      },
      onEnd: (code: number) => {
        this.#endWith(code === CLOSE.replaced ? "replaced" : code === CLOSE.withdrawn ? "withdrawn" : "lost");
      },
      spreadMs: RECONNECT_SPREAD_MS,
    };
    this.#socket = new ReconnectingWebSocket((isReconnect) => host.connect(isReconnect), hooks, clock);
  }

  /**
   * The stream may have missed anything. Its client is told to list again, and to read its subscribed resources again.
   */
  #invalidateAll(revision = 0): void {
    const pending = this.#pending;
    pending.all = true;
    pending.resubscribe = true;
    pending.revision = Math.max(pending.revision, revision);
    this.#scheduleFlush(this.#clock.random() * JITTER_MS);
  }

  /**
   * Without a hub, nothing can end the stream, so it relies on leases as requests do. After it reconnects, it checks
   * once more, because access may have been revoked meanwhile.
   */
  #scheduleAccessCheck(wait: number): void {
    if (this.#closed) return;
    this.#cancelAccessCheck ??= this.#clock.schedule(wait, () => {
      this.#cancelAccessCheck = undefined;
      const isDisconnected = this.#isDisconnected;
      this.#host.getAccess(Infinity).then(
        (access) => {
          if (!access) this.#endWith("withdrawn");
          else if (isDisconnected) this.#scheduleAccessCheck(Math.max(MIN_LEASE_MS, access.leaseMs));
        },
        () => {
          this.#scheduleAccessCheck(ACCESS_CHECK_MS);
        },
      );
    });
  }

  /**
   * Starts the stream. Resolves to its starting state, or to the HTTP status of a refusal. It listens before it reads
   * its view, so that no change falls in between. `resumeFrom`: where an earlier stream stopped.
   */
  async start(resumeFrom: FeedState | undefined): Promise<number | FeedState> {
    const refusal = await withRetries(() => this.#socket.start());
    if (refusal !== undefined) return refusal;
    const [changes, access, filter] = await Promise.all([
      withRetries(() => this.#host.listen(resumeFrom?.versions ?? null)),
      this.#host.getAccess(0),
      this.#host.filter(),
    ]).catch((error: unknown) => {
      // Otherwise the socket would stay, and be reopened forever, although no stream started.
      this.close();
      throw error;
    });
    if (!access) return this.#refuse();
    this.#filter = filter;
    // While a change is not in effect yet, the client's lists may be older than the view here. Unknown digests match no
    // list, so every list is announced once the change is in effect.
    const { definitions, content } = changes;
    const digests = resumeFrom?.digests ?? (definitions.due ? UNKNOWN_DIGESTS : access.digests);
    this.#state = { versions: { definitions: definitions.version, content: content.version }, digests };
    for (const log of LOGS) {
      this.#lastVersions[log] = Math.max(this.#lastVersions[log] ?? 0, changes[log].version);
      if (resumeFrom) this.#take(log, changes[log]);
    }
    // A deployment may have changed lists in code without a new version, so the digests are compared.
    if (resumeFrom) this.#pending.policy ||= !definitions.due;
    // Sends the changes that were just read, and those that arrived before `#state` was set.
    this.#scheduleFlush(0);
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
    if (!this.#closed) this.#host.onClose?.();
    this.#closed = true;
    this.#cancelFlush?.();
    this.#cancelAccessCheck?.();
    this.#socket.close();
  }

  #endWith(reason: Parameters<FeedHost["onEnd"]>[0]): void {
    if (this.#closed) return;
    this.close();
    this.#host.onEnd(reason);
  }

  #onMessage(message: HubMessage): void {
    if ("resubscribe" in message) {
      this.#pending.resubscribe = true;
      return this.#scheduleFlush(0);
    }
    const { log, check, after, version } = message;
    // The event is of a later release, which has another log.
    if (!LOGS.includes(log)) return this.#invalidateAll(Infinity);
    if (check !== null) this.#pending.revision = Math.max(this.#pending.revision, check);
    const lastVersion = this.#lastVersions[log];
    if (lastVersion !== undefined && lastVersion < after) this.#invalidateAll(Infinity);
    this.#lastVersions[log] = Math.max(lastVersion ?? 0, version);
    const isRepeated = version > after && version === this.#lastTaken[log];
    if (!isRepeated) this.#take(log, { ...message, all: false });
    this.#lastTaken[log] = version;
    return this.#scheduleFlush(check === null ? COALESCE_MS : this.#clock.random() * JITTER_MS);
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

  /** Flushes after `wait` milliseconds. An already scheduled flush stays, unless `wait` is 0. */
  #scheduleFlush(wait: number): void {
    if (this.#closed || !this.#state) return;
    if (wait > 0 && this.#cancelFlush !== undefined) return;
    this.#cancelFlush?.();
    this.#cancelFlush = this.#clock.schedule(wait, () => {
      this.#cancelFlush = undefined;
      this.#work = this.#work
        .then(() => this.#flush())
        .then(
          () => {
            this.#failures = 0;
          },
          () => {
            // The tenant object is unreachable: retry, and send nothing meanwhile.
            this.#scheduleFlush(backOff(this.#failures, this.#clock));
            this.#failures += 1;
          },
        );
    });
  }

  async #flush(): Promise<void> {
    const pending = this.#pending;
    this.#pending = createPendingChanges();
    try {
      await this.#notifyClient(pending);
    } catch (error) {
      this.#pending = mergePendingChanges(pending, this.#pending);
      throw error;
    }
  }

  async #notifyClient(pending: PendingChanges): Promise<void> {
    if (pending.resubscribe) this.#filter = await this.#host.filter();
    const access = await this.#host.getAccess(pending.revision);
    const before = this.#state;
    const filter = this.#filter;
    if (this.#closed || !before || !filter) return;
    if (!access) return this.#endWith("withdrawn");
    const changed = SECTIONS.filter((section) => filter[section] && hasChanged(section, pending, before, access));
    // While a change is due, this view may show it already, and the client's next request may not. Without these
    // digests, the lists are announced again when the change is in effect.
    const forgotten = this.#due ? Object.fromEntries(changed.map((section) => [section, ""])) : {};
    const current = pending.policy ? { ...access.digests, ...forgotten } : before.digests;
    // After a gap, it is also unknown whether a change is due.
    const digests = pending.all ? UNKNOWN_DIGESTS : current;
    const after = { versions: maxVersions(before.versions, pending.versions), digests };
    const notifications = [
      ...changed.map((section) => ({ method: METHODS[section], params: {} })),
      ...updatedIn(pending, filter, access).map((uri) => ({ method: UPDATED, params: { uri } })),
    ];
    this.#state = after;
    // Only the last notification carries the new state. A stream that is cut before it resumes from before all of them.
    for (const [at, { method, params }] of notifications.entries()) {
      await this.#host.notify(method, params, at === notifications.length - 1 ? after : before);
    }
  }
}

function hasChanged(
  section: ChangedSection,
  pending: PendingChanges,
  before: FeedState,
  access: StreamAccess,
): boolean {
  if (pending.all || pending.announced.has(section)) return true;
  if (pending.policy && access.digests[section] !== before.digests[section]) return true;
  return section === "resources" && [...pending.listed].some((uri) => access.canSee(uri));
}

/** The updated URIs that the client subscribed to and may see, in the client's spelling. */
function updatedIn(pending: PendingChanges, filter: ListenFilter, access: StreamAccess): string[] {
  const uris = pending.all ? [...filter.uris.keys()] : [...pending.updated];
  return uris.flatMap((uri) => (access.canSee(uri) ? (filter.uris.get(uri) ?? []) : []));
}

// Owns a notification stream of either era while it is open: what changed in the tenant, told as far as the stream
// asked for it and its view sees it. Before anything is told, whoever listens must still be admitted.
// https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions

import type { Changes, ChangedSection } from "../tenants/authority/changes.ts";
import { HeldSocket, type Opened } from "./held-socket.ts";
import { persistently } from "./persistently.ts";
import { CLOSE, type HubMessage } from "./wire.ts";

/** How long changes are collected, so that a burst is told once. */
const COALESCE_MS = 15;
/** The longest random wait before a look: streams of one isolate spread, and the first one's look serves the others. */
const SPREAD_MS = 40;
const RETRY_MS = 1000;

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
  sees(uri: string): boolean;
}

export interface FeedHost {
  /** Opens the stream's socket at the hub. `again`: it was lost, and must not replace a newer stream of its session. */
  connect(again: boolean): Promise<Opened>;
  /** Tells the authority that somebody listens. Resolves to what changed since version `since`; null: since now. */
  listen(since: number | null): Promise<Changes>;
  /**
   * What the listener sees now; null: they are no longer admitted. `revision`: the least revision of the policy to look
   * at; Infinity: the newest, which the authority is asked for.
   */
  look(revision: number): Promise<StreamSight | null>;
  /** What the stream is told of. Read again whenever the session's subscriptions changed. */
  filter(): Promise<Filter>;
  /** Sends one notification. `state`: where a stream that received it goes on. */
  tell(method: string, params: Record<string, unknown>, state: FeedState): void;
  ended(why: "replaced" | "withdrawn" | "over" | "lost"): void;
  /** Called once when the feed is over, whoever ended it. */
  closed?(): void;
}

/** What a stream has been told: enough to go on from there. */
export interface FeedState {
  readonly version: number;
  readonly digests: Digests;
}

const METHODS: Readonly<Record<ChangedSection, string>> = {
  tools: "notifications/tools/list_changed",
  prompts: "notifications/prompts/list_changed",
  resources: "notifications/resources/list_changed",
};
const UPDATED = "notifications/resources/updated";
const SECTIONS: readonly ChangedSection[] = ["tools", "prompts", "resources"];

const UNKNOWN: Digests = { tools: "", prompts: "", resources: "" };

export class Feed {
  readonly #host: FeedHost;
  readonly #socket: HeldSocket;
  #filter: Filter | undefined;
  #state: FeedState | undefined;
  #pending: Pending = nothing();
  /** The newest version heard of. An event whose `after` is greater shows that one in between was missed. */
  #heard = 0;
  /** The version of the last event taken, to recognize it when it is repeated because another hub did not get it. */
  #taken = 0;
  /** As far as is known, a change of policy is written but not in force yet. */
  #due = false;
  #work: Promise<void> = Promise.resolve();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #closed = false;

  constructor(host: FeedHost) {
    this.#host = host;
    this.#socket = new HeldSocket((again) => host.connect(again), {
      message: (message) => {
        this.#hear(message as HubMessage);
      },
      reopened: () => {
        this.#pending.missed = true;
        this.#soon(Math.random() * SPREAD_MS);
      },
      ended: (code) => {
        this.#end(code === CLOSE.replaced ? "replaced" : code === CLOSE.withdrawn ? "withdrawn" : "lost");
      },
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
      persistently(() => this.#host.listen(from?.version ?? null)),
      this.#host.look(from ? Infinity : 0),
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
    const digests = from?.digests ?? (changes.due ? UNKNOWN : sight.digests);
    this.#state = { version: changes.version, digests };
    this.#heard = Math.max(this.#heard, changes.version);
    if (from) {
      this.#take(changes);
      // A deployment may have changed lists in code without any new version: compare the digests.
      this.#pending.policy ||= !changes.due;
    }
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
    clearTimeout(this.#timer ?? null);
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
    const { check, after } = message;
    if (check !== null) this.#pending.revision = Math.max(this.#pending.revision, check);
    // Before the stream has begun nothing can be missed, because what it begins with is newer.
    if (this.#state && this.#heard < after) this.#pending.missed = true;
    this.#heard = Math.max(this.#heard, message.version);
    const isRepeated = message.version > after && message.version === this.#taken;
    if (!isRepeated) this.#take({ ...message, all: false });
    this.#taken = message.version;
    return this.#soon(check === null ? COALESCE_MS : Math.random() * SPREAD_MS);
  }

  #take(changes: Changes): void {
    const pending = this.#pending;
    for (const uri of changes.updated) pending.updated.add(uri);
    for (const uri of changes.listed) pending.listed.add(uri);
    for (const section of changes.announced) pending.announced.add(section);
    pending.policy ||= changes.policy || changes.all;
    pending.all ||= changes.all;
    this.#due = changes.due;
    pending.version = Math.max(pending.version, changes.version);
  }

  /** Flushes after `wait` milliseconds. A flush that is due already stands, except where this one comes at once. */
  #soon(wait: number): void {
    if (this.#closed || !this.#state) return;
    if (wait > 0 && this.#timer !== undefined) return;
    clearTimeout(this.#timer ?? null);
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#work = this.#work
        .then(() => this.#flush())
        .catch(() => {
          // The authority is away: try again, and tell nothing meanwhile.
          this.#pending.missed = true;
          this.#soon(RETRY_MS);
        });
    }, wait);
  }

  async #flush(): Promise<void> {
    if (this.#pending.missed && this.#state) {
      const changes = await this.#host.listen(this.#state.version);
      this.#heard = Math.max(this.#heard, changes.version);
      this.#take(changes);
    }
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
    if (pending.resubscribe || pending.missed) this.#filter = await this.#host.filter();
    const sight = await this.#host.look(pending.missed ? Infinity : pending.revision);
    const before = this.#state;
    const filter = this.#filter;
    if (this.#closed || !before || !filter) return;
    if (!sight) return this.#end("withdrawn");
    const changed = SECTIONS.filter((section) => filter[section] && hasChanged(section, pending, before, sight));
    // While a change is due, this view may show it already, and the client's next request may not. Forgetting these
    // digests has the lists told again when the change is in force.
    const unsure = this.#due ? Object.fromEntries(changed.map((section) => [section, ""])) : {};
    const after = {
      version: Math.max(before.version, pending.version),
      digests: pending.policy ? { ...sight.digests, ...unsure } : before.digests,
    };
    const told = [
      ...changed.map((section) => ({ method: METHODS[section], params: {} })),
      ...updatedIn(pending, filter, sight).map((uri) => ({ method: UPDATED, params: { uri } })),
    ];
    this.#state = after;
    // Only the last notification carries the new state: a stream cut in between goes on from before all of them.
    for (const [at, { method, params }] of told.entries()) {
      this.#host.tell(method, params, at === told.length - 1 ? after : before);
    }
  }
}

interface Pending {
  updated: Set<string>;
  listed: Set<string>;
  announced: Set<ChangedSection>;
  policy: boolean;
  all: boolean;
  /** An event was lost: the authority has to be asked what changed. */
  missed: boolean;
  resubscribe: boolean;
  /** The least revision of the policy that the view must be computed on. */
  revision: number;
  version: number;
}

function nothing(): Pending {
  return {
    updated: new Set(),
    listed: new Set(),
    announced: new Set(),
    policy: false,
    all: false,
    missed: false,
    resubscribe: false,
    revision: 0,
    version: 0,
  };
}

/** What could not be told, with what came since. */
function merged(a: Pending, b: Pending): Pending {
  return {
    updated: new Set([...a.updated, ...b.updated]),
    listed: new Set([...a.listed, ...b.listed]),
    announced: new Set([...a.announced, ...b.announced]),
    policy: a.policy || b.policy,
    all: a.all || b.all,
    missed: a.missed || b.missed,
    resubscribe: a.resubscribe || b.resubscribe,
    revision: Math.max(a.revision, b.revision),
    version: Math.max(a.version, b.version),
  };
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

// Owns the shapes in which a tenant's changes travel: from its authority to the hub, and to whoever holds a stream.

/** A list that a client may ask to hear about. */
export type ChangedSection = "tools" | "prompts" | "resources";

/**
 * A tenant's changes are in two logs, each with versions of its own: that of its authority, and that of the object that
 * keeps its content.
 */
export type ChangeLogName = "definitions" | "content";

/** What changed in a tenant between two versions, hidden things included; a view decides what of it may be told. */
export interface Changes {
  /** Grows with every change; 0 for a tenant that never changed. */
  readonly version: number;
  /** URIs whose content changed. */
  readonly updated: readonly string[];
  /** URIs that came, went or are described differently: the list of resources changed for whoever sees them. */
  readonly listed: readonly string[];
  /** Lists that a tool announced as changed with `ctx.announce`. */
  readonly announced: readonly ChangedSection[];
  /** The policy changed and is in force: definitions may differ, and no older lease is valid any more. */
  readonly policy: boolean;
  /** The record does not reach back to the version that was asked about: anything may differ. */
  readonly all: boolean;
  /** A change of policy was written that is not in force yet. */
  readonly due: boolean;
}

/** What either object sends to the tenant's hubs. */
export interface ChangeEvent extends Omit<Changes, "all"> {
  readonly log: ChangeLogName;
  /** The version of the event before. A stream that knows less has missed an event. */
  readonly after: number;
  /** The policy's revision when it was just written: whoever holds a stream looks whether the stream may go on. */
  readonly check: number | null;
  /** Which streams end now; null: none. */
  readonly close: RevocationFilter | null;
}

/** Whose streams end: those of this principal and of this profile; an absent member matches all. */
export interface RevocationFilter {
  readonly principal?: string;
  readonly profile?: string;
}

/** How a domain's tables say that something changed. Called within the transaction that changes it. */
export interface ChangeLog {
  /** The content under the URI changed; `listed`: so did its entry in the list of resources. */
  updated(uri: string, listed: boolean): void;
  announced(sections: readonly ChangedSection[]): void;
  /**
   * The policy changed. Streams check now whether they may go on, and are told what differs at `effectiveAt`
   * (milliseconds since the epoch); those that `close` names end now.
   */
  policy(revision: number, effectiveAt: number, close?: RevocationFilter): void;
}

/** A hub of the tenant, as those objects call it. Gives the number of streams at it. */
export interface HubStub {
  publish(event: ChangeEvent): Promise<number>;
  /** For how many milliseconds yet streams may be away from it, which were not told. */
  reconnectWindowMs(): Promise<number>;
}

export interface HubEnv {
  /** How many hub objects share a tenant's streams; 1 when unset. Some thousand streams are well within one. */
  readonly HUB_SHARDS?: string;
}

export const MAX_SHARDS = 64;

export function shardsOf({ HUB_SHARDS }: HubEnv): number {
  const shards = Number(HUB_SHARDS ?? 1);
  return Number.isInteger(shards) && shards >= 1 && shards <= MAX_SHARDS ? shards : 1;
}

/** The name of one of a tenant's hubs. `kept`: as `keptUnder` makes it, which has no "#". */
export function hubName(storageKey: string, shard: number): string {
  return shard === 0 ? storageKey : `${storageKey}#${shard}`;
}

// The types of a tenant's changes, as they travel from the tenant object to the hubs and to the streams.

/** A list that a client can ask to be notified about. */
export type ChangedSection = "tools" | "prompts" | "resources";

/** A tenant's changes are in two logs with separate versions: one in the tenant object, one in the content object. */
export type ChangeLogName = "definitions" | "content";

/**
 * The changes of a tenant between two versions, hidden things included. A view decides which of them a stream may see.
 */
export interface Changes {
  /** Grows with every change; 0 for a tenant that never changed. */
  readonly version: number;
  /** URIs whose content changed. */
  readonly updated: readonly string[];
  /**
   * URIs of resources that were added, removed or described differently. The list of resources changed for callers who
   * see them.
   */
  readonly listed: readonly string[];
  /** Lists that a tool announced as changed with `ctx.announce`. */
  readonly announced: readonly ChangedSection[];
  /** The policy changed and is in effect: definitions may differ, and no older lease is valid any more. */
  readonly policy: boolean;
  /** The log does not reach back to the requested version, so anything may differ. */
  readonly all: boolean;
  /** A policy change was written and is not in effect yet. */
  readonly due: boolean;
}

/** An event from the tenant object or the content object to the tenant's hubs. */
export interface ChangeEvent extends Omit<Changes, "all"> {
  readonly log: ChangeLogName;
  /** The version of the previous event. A stream with a lower version has missed an event. */
  readonly after: number;
  /**
   * The policy's revision, if it was just written. The holder of a stream then checks whether the stream may continue.
   */
  readonly check: number | null;
  /** The streams that end now; null: none. */
  readonly close: RevocationFilter | null;
}

/** Selects streams by principal and profile. An absent member matches all. */
export interface RevocationFilter {
  readonly principal?: string;
  readonly profile?: string;
}

/** How a domain's tables report changes. Called within the transaction of the change. */
export interface ChangeLog {
  /** The content of the URI changed. `listed`: its entry in the list of resources changed too. */
  updated(uri: string, listed: boolean): void;
  announced(sections: readonly ChangedSection[]): void;
  /**
   * The policy changed. Streams check now whether they may continue, and learn the differences at `effectiveAt`
   * (milliseconds since the epoch). Streams that match `close` end now.
   */
  policy(revision: number, effectiveAt: number, close?: RevocationFilter): void;
}

/**
 * A hub of the tenant, as the tenant object and the content object call it. `publish` returns the number of streams at
 * the hub.
 */
export interface HubStub {
  publish(event: ChangeEvent): Promise<number>;
  /** For how many milliseconds streams may still be disconnected and miss events. */
  reconnectWindowMs(): Promise<number>;
}

export interface HubEnv {
  /** How many hub objects share a tenant's streams; 1 by default. One hub can serve several thousand streams. */
  readonly HUB_SHARDS?: string;
}

export const MAX_SHARDS = 64;

export function shardsOf({ HUB_SHARDS }: HubEnv): number {
  const shards = Number(HUB_SHARDS ?? 1);
  return Number.isInteger(shards) && shards >= 1 && shards <= MAX_SHARDS ? shards : 1;
}

/** The name of one of a tenant's hubs. `storageKey`: as `storageKey()` makes it, which has no "#". */
export function hubName(storageKey: string, shard: number): string {
  return shard === 0 ? storageKey : `${storageKey}#${shard}`;
}

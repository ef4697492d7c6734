// Owns the shapes in which a tenant's changes travel: from its authority to the hub, and to whoever holds a stream.

/** A list that a client may ask to hear about. */
export type ChangedSection = "tools" | "prompts" | "resources";

/** What differs between two versions of a tenant, for all eyes; a view decides what of it may be told. */
export interface Changes {
  /** Grows with every change; 0 for a tenant that never changed. */
  readonly version: number;
  /** URIs whose content changed. */
  readonly updated: readonly string[];
  /** URIs that came, went, or are described differently: the list of resources is another one for who sees them. */
  readonly listed: readonly string[];
  /** Lists that a tool said are others now. */
  readonly announced: readonly ChangedSection[];
  /** Definitions may be others, and every lease that could contradict it has ended. */
  readonly policy: boolean;
  /** The version that was asked about is too long ago: anything may differ. */
  readonly all: boolean;
  /** A change of policy was written and is not in force yet. */
  readonly due: boolean;
}

/** From the authority to the hub. */
export interface ChangeEvent extends Omit<Changes, "all"> {
  /** The version of the event before: who knows less missed something. */
  readonly after: number;
  /** The policy's revision, when it was just written: who holds a stream looks whether it may go on. */
  readonly check: number | null;
  /** Streams that end now. */
  readonly close: Withdrawn | null;
}

/** Whose streams end; every member that is absent matches all. */
export interface Withdrawn {
  readonly principal?: string;
  readonly profile?: string;
}

/** How a domain's tables say that something changed; within the transaction that changes it. */
export interface ChangeLog {
  updated(uri: string, listed: boolean): void;
  announced(sections: readonly ChangedSection[]): void;
  /** Calls back whenever this URI was said to be updated. */
  watch(uri: string, changed: () => void): void;
  /** Told to streams at `effectiveAt` (milliseconds since the epoch), checked against by them now. */
  policy(revision: number, effectiveAt: number, close?: Withdrawn): void;
}

/** The tenant's hub, as its authority calls it. Answers how many streams there are. */
export interface HubStub {
  publish(event: ChangeEvent): Promise<number>;
}

export interface HubEnv {
  readonly HUBS: DurableObjectNamespace;
  /** How many hub objects share a tenant's streams; 1 when unset. Some thousand streams are well within one. */
  readonly HUB_SHARDS?: string;
}

const MAX_SHARDS = 64;

export function shardsOf({ HUB_SHARDS }: HubEnv): number {
  const shards = Number(HUB_SHARDS ?? 1);
  return Number.isInteger(shards) && shards >= 1 && shards <= MAX_SHARDS ? shards : 1;
}

/** The name of one of a tenant's hubs. A tenant's id has no "#". */
export function hubName(tenant: string, shard: number): string {
  return shard === 0 ? tenant : `${tenant}#${shard}`;
}

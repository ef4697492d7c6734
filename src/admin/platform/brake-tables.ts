// Owns what is stopped in every tenant and which tenants are stopped from here, and the leases on that: a replica has one from
// the object that decides, isolates have theirs from a replica. Refuses, as a replica, to serve what it has once its own
// lease has ended and the other object does not answer.

import { AppError } from "../../protocol/app-error.ts";
import type { Actor } from "../../tenants/authority/policy-records.ts";
import { recordAudit } from "../../tenants/authority/audit-log.ts";
import { remote, type TableHost, type Tables } from "../../tenants/authority/tables.ts";
import { persistently } from "../../streams/persistently.ts";
import { inTime } from "../../tenants/isolate/in-time.ts";
import { lasts } from "../../tenants/isolate/lasting.ts";
import { platformAt, platformOf } from "./platform-door.ts";

/** How long each of the two leases lasts at most: both, one after the other, and a slow push are less than 12 s. */
export const BRAKE_LEASE_MS = 5000;
/** Added to the end of a lease, because clocks run at slightly different speeds. */
const CLOCK_SLACK_MS = 100;
/** A lease is renewed by who asks in this last part of it. */
export const RENEWED_IN = 0.3;
/** How long the other object is waited for, by each of two tries. */
const ANSWERED_WITHIN_MS = 750;
const RETRY_WITHIN_MS = 50;
/** How long a replica may take to be told, beside the request that waits; and when it is told again, until it was. */
const TOLD_WITHIN_MS = 10_000;
const TOLD_AGAIN_MS = 60_000;
const RETRY_AFTER_S = 2;

export interface StoppedTool {
  readonly name: string;
  readonly note: string;
  /** ISO 8601. */
  readonly since: string;
}

/** A tenant that was stopped here, because its own object did not answer. */
export interface StoppedTenant {
  readonly id: string;
  /** Which tenant of the name; empty: whichever has it, as of one in code. */
  readonly created: string;
  readonly note: string;
  /** ISO 8601. */
  readonly since: string;
}

export interface BrakePolicy {
  readonly tools: readonly StoppedTool[];
  readonly tenants: readonly StoppedTenant[];
}

export interface BrakeAsk {
  /** What the asker holds; null: nothing. */
  readonly version: number | null;
  /** How long it will serve from the answer, milliseconds. */
  readonly forMs: number;
}

/** `policy`: null where the asker holds this version. */
export interface BrakeGrant {
  readonly version: number;
  readonly policy: BrakePolicy | null;
}

interface Copy {
  readonly version: number;
  readonly policy: BrakePolicy;
}

export interface BrakeMethods {
  /** Of a replica, by isolates. Throws `busy` where its own lease has ended and it gets no other. */
  lease(ask: BrakeAsk): Promise<BrakeGrant>;
  /** Of a replica, by the object that decides: gives for how many milliseconds yet some isolate may serve what was before. */
  take(copy: Copy): Promise<number>;
  /** Of the object that decides, by a replica. */
  follow(replica: string, ask: BrakeAsk): BrakeGrant;
  stopped(): BrakePolicy;
  /** Brings what is decided to every replica that has a lease; gives the milliseconds until it is in force everywhere. */
  push(): Promise<number>;
  /** false: it was stopped already, with this note. */
  stopTenant(tenant: Omit<StoppedTenant, "since">, actor: Actor): boolean;
  /** `created`: empty for all of the name. */
  releaseTenant(tenant: Pick<StoppedTenant, "id" | "created">, actor: Actor): boolean;
}

/** What the object that keeps these tables can do beside. */
export interface BrakeHost extends TableHost {
  /** To the isolates that watch this object: the version that it has now. */
  tellWatching(version: number): void;
}

export const brakeTables: Tables<BrakeMethods, BrakeHost> = {
  name: "brakes",
  migrations: [
    "CREATE TABLE brakes (one INTEGER PRIMARY KEY CHECK (one = 1), version INTEGER NOT NULL, copy TEXT)",
    "INSERT INTO brakes (one, version, copy) VALUES (1, 1, NULL)",
    `CREATE TABLE stopped_tenants (id TEXT NOT NULL, created TEXT NOT NULL, note TEXT NOT NULL, since TEXT NOT NULL,
       PRIMARY KEY (id, created)) WITHOUT ROWID`,
    // Which replicas have asked: after a restart each of them may have a lease.
    "CREATE TABLE replicas (name TEXT PRIMARY KEY) WITHOUT ROWID",
  ],
  open: (host) => {
    const pushes = pushing(host);
    return { methods: { ...deciding(host, pushes), ...following(host) }, alarm: pushes.again };
  },
};

/**
 * Call it in the transaction that changes what is stopped. A version is never given twice, also where storage is set back to
 * an earlier time: it is a time, or more than `beyond`, which somebody has.
 */
export function bumpBrakes({ sql, now }: Pick<TableHost, "sql" | "now">, beyond = 0): void {
  sql.exec("UPDATE brakes SET version = max(version + 1, ?, ?)", now(), beyond + 1);
}

function versionOf(sql: SqlStorage): number {
  return sql.exec<{ version: number }>("SELECT version FROM brakes").one().version;
}

type Deciding = Pick<BrakeMethods, "follow" | "stopped" | "push" | "stopTenant" | "releaseTenant">;

function stoppedIn(sql: SqlStorage): BrakePolicy {
  return {
    tools: sql.exec<StoppedTool & Row>("SELECT name, note, since FROM blocks ORDER BY name").toArray(),
    tenants: sql.exec<StoppedTenant & Row>("SELECT id, created, note, since FROM stopped_tenants").toArray(),
  };
}

function deciding(host: TableHost, { leased, pushTo }: ReturnType<typeof pushing>): Deciding {
  const { sql } = host;
  const stopped = () => stoppedIn(sql);
  return {
    stopped,
    follow: (replica, { version, forMs }) => {
      if (!leased.has(replica)) sql.exec("INSERT OR IGNORE INTO replicas (name) VALUES (?)", replica);
      leased.set(replica, Math.max(leased.get(replica) ?? 0, host.now() + Math.min(forMs, BRAKE_LEASE_MS)));
      if (version !== null && version > versionOf(sql)) bumpBrakes(host, version);
      const current = versionOf(sql);
      return { version: current, policy: version === current ? null : stopped() };
    },
    push: async () => {
      const ends = await Promise.all([...leased.keys()].map(pushTo));
      return Math.max(0, Math.max(0, ...ends) - host.now());
    },
    stopTenant: ({ id, created, note }, actor) =>
      host.transaction(() => {
        const before = stopped().tenants.find((one) => one.id === id && one.created === created);
        if (before?.note === note) return false;
        const since = new Date(host.now()).toISOString();
        sql.exec(
          "INSERT OR REPLACE INTO stopped_tenants (id, created, note, since) VALUES (?, ?, ?, ?)",
          id,
          created,
          note,
          since,
        );
        bumpBrakes(host);
        recordAudit(host, actor, ["tenant.stop", `tenant ${id}`], { before: before ?? null, after: { note } });
        return true;
      }),
    releaseTenant: ({ id, created }, actor) =>
      host.transaction(() => {
        const before = stopped().tenants.filter((one) => one.id === id && ["", one.created].includes(created));
        if (before.length === 0) return false;
        for (const one of before) sql.exec("DELETE FROM stopped_tenants WHERE id = ? AND created = ?", id, one.created);
        bumpBrakes(host);
        recordAudit(host, actor, ["tenant.release", `tenant ${id}`], { before, after: null });
        return true;
      }),
  };
}

/** Who decides, and what each replica may have of it. */
function pushing(host: TableHost) {
  const known = host.sql.exec<{ name: string }>("SELECT name FROM replicas").toArray();
  const begun = host.now();
  /** By name, until when each may have a lease; milliseconds since the epoch. */
  const leased = new Map(known.map(({ name }) => [name, begun + BRAKE_LEASE_MS]));
  /** Who may not have what there is now. Of those that an earlier instance told nobody knows. */
  const untold = new Set(leased.keys());
  const tell = async (name: string): Promise<number> => {
    const copy = { version: versionOf(host.sql), policy: stoppedIn(host.sql) };
    const take = () => remote(platformAt(host.env as object, name), brakeTables).take(copy);
    try {
      const left = await inTime(persistently(take), TOLD_WITHIN_MS, name);
      if (copy.version === versionOf(host.sql)) untold.delete(name);
      return left;
    } catch (error) {
      untold.add(name);
      host.wakeAt(host.now() + TOLD_AGAIN_MS);
      throw error;
    }
  };
  /** Streams of an isolate that asks nothing hear of it from a replica alone. */
  const again = async (): Promise<undefined> => {
    await Promise.allSettled([...untold].map(tell));
  };
  const pushTo = async (name: string): Promise<number> => {
    // None lasts longer from now on, also where the clock was ahead when it was given, and is right again.
    const leaseEnd = () => Math.min(leased.get(name) ?? 0, host.now() + BRAKE_LEASE_MS);
    const atWorst = () => leaseEnd() + BRAKE_LEASE_MS + CLOCK_SLACK_MS;
    // One without a lease asks before it serves anybody, and isolates may have theirs yet. Streams of them may watch it.
    if (leaseEnd() + CLOCK_SLACK_MS <= host.now()) {
      void tell(name).catch(() => {});
      return atWorst();
    }
    const taken = tell(name);
    try {
      return host.now() + (await inTime(taken, ANSWERED_WITHIN_MS));
    } catch {
      return atWorst();
    }
  };
  return { leased, pushTo, again };
}

interface Row {
  [column: string]: SqlStorageValue;
}

function following(host: BrakeHost): Pick<BrakeMethods, "lease" | "take"> {
  const { sql } = host;
  const stored = sql.exec<{ version: number; copy: string | null }>("SELECT version, copy FROM brakes").one();
  let copy: Copy | undefined =
    stored.copy === null ? undefined : { version: stored.version, policy: JSON.parse(stored.copy) as BrakePolicy };
  /** Its own lease; milliseconds since the epoch. What was in memory is lost with the instance. */
  let until = 0;
  /** When the last lease ends that an isolate has. An earlier instance may have given one just now. */
  let given = copy ? host.now() + BRAKE_LEASE_MS : 0;
  let asking: Promise<void> | undefined;
  /** `asked`: what was held when it was asked for. Who decides has less where its storage was set back. */
  const keep = (next: Copy, asked = 0) => {
    if (copy && copy.version >= next.version && next.version >= asked) return;
    copy = next;
    // Told first: an object that cannot write it down serves it all the same.
    host.tellWatching(next.version);
    sql.exec("UPDATE brakes SET version = ?, copy = ?", next.version, JSON.stringify(next.policy));
  };
  const followed = async () => {
    const asked = host.now();
    const ask = { version: copy?.version ?? null, forMs: BRAKE_LEASE_MS };
    const { version, policy } = await inTime(
      remote(platformOf(host.env as object), brakeTables).follow(host.tenant, ask),
      ANSWERED_WITHIN_MS,
    );
    if (policy) keep({ version, policy }, ask.version ?? 0);
    until = asked + BRAKE_LEASE_MS;
  };
  const again = async () => {
    await scheduler.wait(RETRY_WITHIN_MS * Math.random());
    await followed();
  };
  // One question for all who wait here: they are of one object, and the answer is the same.
  const renew = () =>
    (asking ??= followed()
      .catch(again)
      .finally(() => {
        asking = undefined;
      }));
  return {
    take: async (next) => {
      // Who decides knows less than this: another push came first, or its storage was set back, of which it hears so.
      if (copy && next.version < copy.version) await renew();
      else keep(next);
      return Math.max(0, Math.min(given - host.now(), BRAKE_LEASE_MS) + CLOCK_SLACK_MS);
    },
    lease: async ({ version, forMs }) => {
      if (!copy || !lasts(until, BRAKE_LEASE_MS, host.now())) {
        await renew().catch((cause: unknown) => {
          throw new AppError("busy", { retryAfter: RETRY_AFTER_S, cause });
        });
      } else if (until - host.now() < RENEWED_IN * BRAKE_LEASE_MS) {
        // Whoever finds it ended asks again, and says why it was not renewed.
        void renew().catch(() => {});
      }
      const now = host.now();
      given = Math.max(given, now + Math.min(forMs, BRAKE_LEASE_MS));
      const { version: current, policy } = copy as Copy;
      return { version: current, policy: version === current ? null : policy };
    },
  };
}

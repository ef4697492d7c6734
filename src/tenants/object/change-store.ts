// One log of a tenant's changes with their versions. The changes are sent to the hubs at least once, in bursts, and
// only while there are listeners.

import { changeRpc, type ChangeMethods } from "./change-rpc.ts";
import type { ChangeLog, ChangeLogName, Changes, ChangedSection } from "./changes.ts";
import {
  createChangePublisher,
  type ChangePublisher,
  type ChangePublisherHost,
  type ChangeKind,
  type ChangeRows,
} from "./change-publisher.ts";
import type { Store } from "./store.ts";

/** A listener that missed more changes is told that anything may differ. */
const MAX_CHANGES = 10_000;
const PRUNE_EVERY = 1000;

export const changeMigrations: readonly string[] = [
  "CREATE TABLE changes (kind TEXT NOT NULL, name TEXT NOT NULL, version INTEGER NOT NULL, PRIMARY KEY (kind, name)) WITHOUT ROWID",
  "CREATE INDEX changes_by_version ON changes (version)",
  "CREATE TABLE due_announcements (at INTEGER PRIMARY KEY)",
  "CREATE TABLE change_state (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID",
];

export interface ChangeDomain {
  readonly store: Store<ChangeMethods>;
  readonly log: ChangeLog;
}

/** The change tables, and the log that other domains write to. Created for each instance of the object. */
export function createChangeDomain(name: ChangeLogName): ChangeDomain {
  let publisher: ChangePublisher | undefined;
  const openPublisher = () => {
    if (!publisher) throw new Error("the tables of changes are not open");
    return publisher;
  };
  return {
    store: {
      ...changeRpc,
      migrations: changeMigrations,
      open: (host) => {
        publisher = createChangePublisher(createChangeRows(host, name));
        return {
          methods: {
            listen: (since, shard) => openPublisher().listen(since, shard),
            hubs: () => openPublisher().hubs(),
            pendingCloseMs: () => openPublisher().pendingCloseMs(),
            announce: (sections, updated) => {
              host.transaction(() => {
                for (const uri of updated) openPublisher().updated(uri, false);
                openPublisher().announced(sections);
              });
            },
            flush: () => openPublisher().flush(),
          },
          alarm: (now) => openPublisher().alarm(now),
        };
      },
    },
    log: {
      updated: (uri, listed) => {
        openPublisher().updated(uri, listed);
      },
      announced: (sections) => {
        openPublisher().announced(sections);
      },
      policy: (revision, effectiveAt, close) => {
        openPublisher().policy(revision, effectiveAt, close);
      },
    },
  };
}

function createChangeRows(host: ChangePublisherHost, log: ChangeLogName): ChangeRows {
  const { sql } = host;
  const version = () => newestVersion(sql);
  return {
    ...host,
    log,
    version,
    add: (kind, name) => {
      const next = version() + 1;
      sql.exec("INSERT OR REPLACE INTO changes (kind, name, version) VALUES (?, ?, ?)", kind, name, next);
      if (next % PRUNE_EVERY === 0) prune(sql, next);
    },
    since: (from) => changesSince(sql, from, version()),
    addDue: (at) => {
      sql.exec("INSERT OR IGNORE INTO due_announcements (at) VALUES (?)", at);
    },
    takeDue: (now) => {
      const due = sql.exec("DELETE FROM due_announcements WHERE at <= ? RETURNING at", now).toArray().length > 0;
      const { next } = sql.exec<{ next: number | null }>("SELECT min(at) AS next FROM due_announcements").one();
      return { due, next: next ?? undefined };
    },
    state: (name) => changeState(sql, name),
    setState: (name, value) => {
      setChangeState(sql, name, value);
    },
  };
}

type ChangeStateName = "listening" | "sent" | "shards" | "floor";

function changeState(sql: SqlStorage, name: ChangeStateName): number {
  return sql.exec<{ value: number }>("SELECT value FROM change_state WHERE name = ?", name).toArray()[0]?.value ?? 0;
}

function setChangeState(sql: SqlStorage, name: ChangeStateName, value: number): void {
  sql.exec("INSERT OR REPLACE INTO change_state (name, value) VALUES (?, ?)", name, value);
}

function newestVersion(sql: SqlStorage): number {
  const { version } = sql.exec<{ version: number | null }>("SELECT max(version) AS version FROM changes").one();
  return version ?? 0;
}

/**
 * Deletes all but the newest changes. Each change gets the next version, and a repeated change moves to it. So at most
 * `MAX_CHANGES` rows are above the floor.
 */
function prune(sql: SqlStorage, newest: number): void {
  const floor = newest - MAX_CHANGES;
  if (floor <= 0) return;
  const deleted = sql.exec("DELETE FROM changes WHERE version <= ? RETURNING version", floor).toArray();
  if (deleted.length > 0) setChangeState(sql, "floor", floor);
}

function changesSince(sql: SqlStorage, from: number, newest: number): Changes {
  const floor = changeState(sql, "floor");
  const rows = sql
    .exec<{ kind: ChangeKind; name: string; version: number }>(
      "SELECT kind, name, version FROM changes WHERE version > ? ORDER BY version",
      from,
    )
    .toArray();
  const names = (kind: ChangeKind) => rows.filter((row) => row.kind === kind).map((row) => row.name);
  return {
    version: newest,
    updated: names("updated"),
    listed: names("listed"),
    announced: names("announced") as ChangedSection[],
    policy: names("policy").length > 0,
    // A version above the newest one belongs to an earlier tenant of the same name.
    all: from < floor || from > newest,
    due: sql.exec("SELECT 1 FROM due_announcements LIMIT 1").toArray().length > 0,
  };
}

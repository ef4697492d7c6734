// Owns views whose patterns say nothing of places, as `*-private`: each has a number, a row for every resource that it
// sees, in the order of URIs, and a word in the index for every one that it hides. Writes keep both; what was stored
// before its first use is placed by alarms (place-views.ts). Refuses to decide: who looks sees what the patterns say.

import type { Patterns } from "../../tenants/document/tenant-document.ts";
import type { TableHost } from "../../tenants/authority/tables.ts";
import { innerLengthOf } from "./pattern-work.ts";
import { hidingWord, placesSeen } from "./seen-places.ts";
import { isSeen } from "./seen-ranges.ts";

/** A resource that comes or goes takes a row in each that sees it. */
const MAX_VIEWS = 32;
/** Of all their patterns: every write reads them. */
const MAX_CHARACTERS = 65_536;
/** Of those of a view with `*` or `?` inside: with more, placing what is stored would take long. */
const MAX_INNER = 2500;
const DAY_MS = 86_400_000;
/** A view that nobody looks through for so many days is given up; when there are too many, after one. */
export const UNUSED_DAYS = 30;

export interface PlacedView {
  readonly id: number;
  readonly only: readonly Patterns[];
  /** Days since the epoch. */
  readonly used: number;
  /** Resources up to this one are not placed yet; 0: all are. */
  readonly upto: number;
  readonly isEnded?: true;
}

/** In one row, so that as much is read however many there are; and a row behind all, as behind every URI. */
export const viewMigrations: readonly string[] = [
  // No number comes twice: words of a view that was given up stay in the index.
  "CREATE TABLE placed_views (one INTEGER PRIMARY KEY CHECK (one = 1), newest INTEGER NOT NULL, views TEXT NOT NULL)",
  "INSERT INTO placed_views VALUES (1, 0, '[]')",
  "CREATE TABLE view_uris (view INTEGER NOT NULL, uri TEXT NOT NULL, PRIMARY KEY (view, uri)) WITHOUT ROWID",
  "INSERT INTO view_uris VALUES (1e15, x'FF')",
];

export function loadViews(sql: SqlStorage): readonly PlacedView[] {
  const { views } = sql.exec<{ views: string }>("SELECT views FROM placed_views WHERE one = 1").one();
  return JSON.parse(views) as PlacedView[];
}

export function saveViews(sql: SqlStorage, views: readonly PlacedView[]): void {
  sql.exec("UPDATE placed_views SET views = ? WHERE one = 1", JSON.stringify(views));
}

export function changeView(sql: SqlStorage, id: number, members: Partial<PlacedView>): void {
  saveViews(
    sql,
    loadViews(sql).map((view) => (view.id === id ? { ...view, ...members } : view)),
  );
}

const today = (host: TableHost) => Math.floor(host.now() / DAY_MS);

/** Undefined: it needs no number, has none yet, or there is no room for it. */
export function placedView(host: TableHost, only: readonly Patterns[]): PlacedView | undefined {
  if (placesSeen("", only).isExact || innerLengthOf(only) > MAX_INNER) return undefined;
  const key = JSON.stringify(only);
  const views = loadViews(host.sql);
  const found = views.find((view) => !view.isEnded && JSON.stringify(view.only) === key);
  if (!found) begin(host, views, only);
  else if (found.used !== today(host)) changeView(host.sql, found.id, { used: today(host) });
  return found;
}

function begin(host: TableHost, views: readonly PlacedView[], only: readonly Patterns[]): void {
  const { sql } = host;
  host.transaction(() => {
    if (views.length >= MAX_VIEWS || JSON.stringify([views, only]).length > MAX_CHARACTERS) {
      if (!endUnusedViews(host, 1)) return;
    } else if (host.hasRoom()) {
      const { id, upto } = sql
        .exec<{ id: number; upto: number }>(
          "UPDATE placed_views SET newest = newest + 1 WHERE one = 1 RETURNING newest AS id, (SELECT max(id) FROM resources) AS upto",
        )
        .one();
      saveViews(sql, [...views, { id, only, used: today(host), upto }]);
    } else return;
    host.wakeAt(host.now());
  });
}

/** Whether there is one. */
export function endUnusedViews(host: TableHost, days: number): boolean {
  const views = loadViews(host.sql);
  const isUnused = ({ used, isEnded }: PlacedView) => !isEnded && used + days < today(host);
  if (!views.some(isUnused)) return false;
  saveViews(
    host.sql,
    views.map((view) => (isUnused(view) ? { ...view, isEnded: true } : view)),
  );
  return true;
}

/** Those that see a resource, or hide it. */
function viewsOf(sql: SqlStorage, uri: string, see: boolean): readonly PlacedView[] {
  return loadViews(sql).filter(({ only, isEnded }) => !isEnded && isSeen(uri, only) === see);
}

/** The words of the views that hide a resource, for its place in the index. */
export function hidingWords(sql: SqlStorage, uri: string): string {
  return viewsOf(sql, uri, false)
    .map(({ id }) => ` ${hidingWord(id)}`)
    .join("");
}

/** For a resource that is written. */
export function showInViews(sql: SqlStorage, uri: string): void {
  for (const { id } of viewsOf(sql, uri, true)) showInView(sql, id, uri);
}

export function showInView(sql: SqlStorage, view: number, uri: string): void {
  sql.exec("INSERT OR IGNORE INTO view_uris (view, uri) VALUES (?, ?)", view, uri);
}

/** For a resource that goes. */
export function leaveViews(sql: SqlStorage, uri: string): void {
  for (const { id } of loadViews(sql)) sql.exec("DELETE FROM view_uris WHERE view = ? AND uri = ?", id, uri);
}

// Owns views whose patterns say nothing of places, as `*-private`: each has a number, a row for every resource that it
// sees, in the order of URIs, and a word in the index for every one that it hides. Writes keep both; what was stored
// before its first use is placed by alarms (place-views.ts). Refuses to decide: who looks sees what the patterns say.

import type { Patterns } from "../../tenants/document/tenant-document.ts";
import type { TableHost } from "../../tenants/authority/tables.ts";
import { hidingWord, placesSeen } from "./seen-places.ts";
import { isSeen } from "./seen-ranges.ts";

const MAX_VIEWS = 32;
/** Of all their patterns: every write reads them. */
const MAX_CHARACTERS = 65_536;
const DAY_MS = 86_400_000;
/** A view that nobody looks through for so many days is given up; when there are too many, after one. */
export const UNUSED_DAYS = 30;

export interface PlacedView {
  readonly id: number;
  readonly only: readonly Patterns[];
  /** Days since the epoch. */
  readonly used: number;
  /** Of the resources that were there at its first use the last one, and the last one that was gone through. */
  readonly last: number;
  readonly upto: number;
  readonly isEnded?: true;
}

export interface PlacedViews {
  /** No number comes twice: words of a view that was given up stay in the index. */
  readonly next: number;
  readonly views: readonly PlacedView[];
}

/** In one row, so that as much is read however many there are; and a row behind all, as behind every URI. */
export const viewMigrations: readonly string[] = [
  "CREATE TABLE placed_views (one INTEGER PRIMARY KEY CHECK (one = 1), next INTEGER NOT NULL, views TEXT NOT NULL)",
  "INSERT INTO placed_views VALUES (1, 1, '[]')",
  `CREATE TABLE view_uris (view INTEGER NOT NULL, tag TEXT NOT NULL, uri TEXT NOT NULL, PRIMARY KEY (view, tag, uri))
     WITHOUT ROWID`,
  "INSERT INTO view_uris (view, tag, uri) VALUES (9007199254740991, x'FF', x'FF')",
];

export function loadViews(sql: SqlStorage): PlacedViews {
  const { next, views } = sql
    .exec<{ next: number; views: string }>("SELECT next, views FROM placed_views WHERE one = 1")
    .one();
  return { next, views: JSON.parse(views) as PlacedView[] };
}

export function saveViews(sql: SqlStorage, { next, views }: PlacedViews): void {
  sql.exec("UPDATE placed_views SET next = ?, views = ? WHERE one = 1", next, JSON.stringify(views));
}

export function changeView(sql: SqlStorage, id: number, members: Partial<PlacedView>): void {
  const held = loadViews(sql);
  saveViews(sql, { ...held, views: held.views.map((view) => (view.id === id ? { ...view, ...members } : view)) });
}

const today = ({ now }: Pick<TableHost, "now">) => Math.floor(now() / DAY_MS);
export const isPlaced = ({ upto, last }: PlacedView) => upto >= last;

/** The number of a view that needs one and has it; undefined: it needs none, or cannot be looked through by number yet. */
export function placedView(host: TableHost, only: readonly Patterns[]): number | undefined {
  if (placesSeen("", only).isExact) return undefined;
  const key = JSON.stringify(only);
  const held = loadViews(host.sql);
  const view = held.views.find((one) => one.isEnded === undefined && JSON.stringify(one.only) === key);
  if (!view) {
    host.transaction(() => {
      begin(host, held, only);
    });
    return undefined;
  }
  if (view.used !== today(host)) changeView(host.sql, view.id, { used: today(host) });
  return isPlaced(view) ? view.id : undefined;
}

function begin(host: TableHost, { next, views }: PlacedViews, only: readonly Patterns[]): void {
  const { sql } = host;
  const { last } = sql.exec<{ last: number }>("SELECT max(id) AS last FROM resources").one();
  const all = [...views, { id: next, only, used: today(host), last, upto: 0 }];
  if (all.length > MAX_VIEWS || JSON.stringify(all).length > MAX_CHARACTERS) endUnusedViews(host, 1);
  else if (host.hasRoom()) saveViews(sql, { next: next + 1, views: all });
  else return;
  host.wakeAt(host.now());
}

export function endUnusedViews(host: TableHost, days: number): void {
  const held = loadViews(host.sql);
  const isUnused = ({ used }: PlacedView) => used + days < today(host);
  if (!held.views.some((view) => isUnused(view) && !view.isEnded)) return;
  const views = held.views.map((view) => (isUnused(view) ? { ...view, isEnded: true as const } : view));
  saveViews(host.sql, { ...held, views });
}

/** The words of the views that hide a resource, for its place in the index. */
export function hidingWords(sql: SqlStorage, uri: string): string {
  const hiding = loadViews(sql).views.filter(({ only, isEnded }) => !isEnded && !isSeen(uri, only));
  return hiding.map(({ id }) => ` ${hidingWord(id)}`).join("");
}

interface Shown {
  readonly uri: string;
  readonly tags: readonly string[];
}

/** A row for itself, and one for each of its tags. */
const tagKeys = (tags: readonly string[]) => ["", ...tags.map(tagKey)];
export const tagKey = (tag: string | null) => (tag === null ? "" : `#${tag}`);

/** For a resource that is written. */
export function showInViews(sql: SqlStorage, shown: Shown): void {
  for (const { id, only, isEnded } of loadViews(sql).views)
    if (!isEnded && isSeen(shown.uri, only)) showInView(sql, id, shown);
}

export function showInView(sql: SqlStorage, view: number, { uri, tags }: Shown): void {
  for (const tag of tagKeys(tags)) sql.exec("INSERT OR IGNORE INTO view_uris VALUES (?, ?, ?)", view, tag, uri);
}

/** For a resource that goes. */
export function leaveViews(sql: SqlStorage, { uri, tags }: Shown): void {
  for (const { id, only } of loadViews(sql).views) {
    if (!isSeen(uri, only)) continue;
    for (const tag of tagKeys(tags)) {
      sql.exec("DELETE FROM view_uris WHERE view = ? AND tag = ? AND uri = ?", id, tag, uri);
    }
  }
}

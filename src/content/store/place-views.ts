// Owns placing, at alarms and some at a time, what was stored before the first use of a view that has a number; and giving
// up views that nobody uses. A row that is written or deleted meanwhile is not its business any more.

import type { TableHost } from "../../tenants/authority/tables.ts";
import { indexedText } from "./indexed-text.ts";
import { boundedSight, MOST_WORK } from "./pattern-work.ts";
import {
  changeView,
  endUnusedViews,
  loadViews,
  saveViews,
  showInView,
  UNUSED_DAYS,
  type PlacedView,
} from "./placed-views.ts";
import type { StoredRow } from "./resource-row.ts";
import { indexText, unindexText } from "./text-index.ts";

/** In one alarm so many resources are gone through, and of so many the text is read from KV and indexed again. */
const ROWS_AT_ONCE = 500;
const TEXTS_AT_ONCE = 20;
/** The next alarm follows at once. */
const MOST_WORK_AT_ONCE = MOST_WORK / 10;
const ENDED_AT_ONCE = 2000;

/** Goes a step forward with what is not ready yet, or was given up; whether nothing is left to do. */
export async function placeViews(host: TableHost): Promise<boolean> {
  endUnusedViews(host, UNUSED_DAYS);
  const view = loadViews(host.sql).find(({ isEnded, upto }) => isEnded || upto > 0);
  if (view?.isEnded) endView(host, view);
  else if (view) await place(host, view);
  return !view;
}

function endView(host: TableHost, { id }: PlacedView): void {
  const { sql } = host;
  host.transaction(() => {
    const some = "SELECT view, uri FROM view_uris WHERE view = ? LIMIT ?";
    const gone = sql.exec(`DELETE FROM view_uris WHERE (view, uri) IN (${some}) RETURNING 1`, id, ENDED_AT_ONCE);
    if (gone.toArray().length === ENDED_AT_ONCE) return;
    saveViews(
      sql,
      loadViews(sql).filter((view) => view.id !== id),
    );
  });
}

/** The newest first: these are what a search looks at first. */
async function place(host: TableHost, { id, only, upto }: PlacedView): Promise<void> {
  const { sql } = host;
  const query = "SELECT * FROM resources WHERE id > 0 AND id <= ? ORDER BY id DESC LIMIT ?";
  const rows = sql.exec<StoredRow>(query, upto, ROWS_AT_ONCE).toArray();
  const sees = boundedSight(only, MOST_WORK_AT_ONCE);
  const hidden: StoredRow[] = [];
  let next = (rows[ROWS_AT_ONCE - 1]?.id ?? 1) - 1;
  for (const row of rows) {
    const isShown = sees(row.uri);
    if (isShown) continue;
    if (isShown === undefined || hidden.length === TEXTS_AT_ONCE) {
      // Where the next step begins.
      next = row.id;
      break;
    }
    hidden.push(row);
  }
  const texts = new Map(await Promise.all(hidden.map(async (row) => [row.id, await indexedText(host, row)] as const)));
  host.transaction(() => {
    for (const row of rows) if (row.id > next && isStill(sql, row)) placeOne(sql, id, row, texts.get(row.id));
    changeView(sql, id, { upto: next });
  });
}

/** What was written or deleted since the row was read is placed already. */
function isStill(sql: SqlStorage, { id, uri, revision }: StoredRow): boolean {
  const query = "SELECT 1 FROM resources WHERE id = ? AND uri = ? AND revision = ?";
  return sql.exec(query, id, uri, revision).toArray().length > 0;
}

/** `text`: of a resource that the view hides. */
function placeOne(sql: SqlStorage, view: number, row: StoredRow, text: string | undefined): void {
  if (text === undefined) showInView(sql, view, row.uri);
  else {
    unindexText(sql, row.id);
    indexText(sql, row.id, { ...row, tags: JSON.parse(row.tags) as string[] }, text);
  }
}

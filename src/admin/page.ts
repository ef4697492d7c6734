// Pages of lists, with opaque cursors that each work for their own list only.

import { decodeCursor, encodeCursor, paginate } from "../protocol/cursor.ts";
import { invalidFields } from "./problem.ts";

export interface PageParams {
  readonly cursor?: string | undefined;
  readonly limit: number;
}

export interface ListPage<T> {
  readonly items: readonly T[];
  readonly cursor?: string;
}

/** A page of a list that is short enough to be in memory as a whole. */
export function paginateArray<T>(list: string, all: readonly T[], { cursor, limit }: PageParams): ListPage<T> {
  const page = paginate(list, all, cursor, limit);
  if (!page) throw foreignCursor();
  const { items, nextCursor } = page;
  return nextCursor === undefined ? { items } : { items, cursor: nextCursor };
}

/** For a list whose position is a number. */
export const NUMBER_POSITION = /^\d{1,15}$/;

/**
 * The position after which the page begins; undefined: the start. Throws for a cursor of another list, or a position
 * of another form.
 */
export function parsePosition(list: string, { cursor }: PageParams, form = /^/): string | undefined {
  if (cursor === undefined) return undefined;
  const position = decodeCursor(list, cursor);
  if (position === undefined || !form.test(position)) throw foreignCursor();
  return position;
}

/** `rows` has one more than the page if there is a next page. */
export function paginateRows<T>(list: string, rows: readonly T[], limit: number, at: (row: T) => string): ListPage<T> {
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  return rows.length > limit && last !== undefined ? { items, cursor: encodeCursor(list, at(last)) } : { items };
}

function foreignCursor() {
  return invalidFields(["cursor", "is not one of this list"]);
}

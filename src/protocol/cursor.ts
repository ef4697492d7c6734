// Opaque list cursors: encodes a position, and rejects any cursor that this server did not create for the list.

/** `list` names the list that the cursor belongs to; other lists reject the cursor. */
export function encodeCursor(list: string, position: string): string {
  return encodeURIComponent(`${list}\n${position}`).replaceAll("~", "%7E").replaceAll("%", "~");
}

/** Returns the position; undefined if the cursor was not created for this list. */
export function decodeCursor(list: string, cursor: string): string | undefined {
  if (cursor.length > 8192) return undefined;
  let text: string;
  try {
    text = decodeURIComponent(cursor.replaceAll("~", "%"));
  } catch {
    return undefined;
  }
  return text.startsWith(`${list}\n`) ? text.slice(list.length + 1) : undefined;
}

/** A page of at most `size` items of a list in memory; undefined if the cursor is not one of ours. */
export function paginate<T>(
  list: string,
  all: readonly T[],
  cursor: string | undefined,
  size: number,
): { readonly items: readonly T[]; readonly nextCursor?: string } | undefined {
  if (cursor === undefined && all.length <= size) return { items: all };
  const position = cursor === undefined ? "0" : decodeCursor(list, cursor);
  if (position === undefined || !/^\d{1,9}$/.test(position)) return undefined;
  const start = Number(position);
  if (cursor !== undefined && start >= all.length) return undefined;
  const end = start + size;
  const items = all.slice(start, end);
  return end < all.length ? { items, nextCursor: encodeCursor(list, String(end)) } : { items };
}

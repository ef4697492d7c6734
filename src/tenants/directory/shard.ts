// Maps a text to one of several objects: the same one for the same text, in every release.

/** The result is 0 or more, and below `shards`. */
export function shardOf(text: string, shards: number): number {
  let sum = 0;
  for (const char of text) sum = (sum * 31 + (char.codePointAt(0) ?? 0)) % 1_000_003;
  return sum % shards;
}

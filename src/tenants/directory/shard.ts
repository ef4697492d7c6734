// Owns which of several objects is asked about a text: the same one for the same text, in every release. Pure.

/** Of objects that are numbered from 0. */
export function shardOf(text: string, shards: number): number {
  let sum = 0;
  for (const char of text) sum = (sum * 31 + (char.codePointAt(0) ?? 0)) % 1_000_003;
  return sum % shards;
}

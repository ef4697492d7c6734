// The directory is spread over several objects, by the names of tenants and hosts.

/** Never change this: a name would be looked up in another object than the one that has it. */
export const SHARD_COUNT = 16;
/** The prefix of an object's name, before its number. */
export const SHARD_PREFIX = "names-";

export function shardAt<T extends Rpc.DurableObjectBranded>(
  objects: DurableObjectNamespace<T>,
  at: number,
): DurableObjectStub<T> {
  return objects.getByName(`${SHARD_PREFIX}${at}`);
}

/** The shard of a tenant's id or a hostname. */
export function shardFor<T extends Rpc.DurableObjectBranded>(
  objects: DurableObjectNamespace<T>,
  name: string,
): DurableObjectStub<T> {
  return shardAt(objects, shardOf(name, SHARD_COUNT));
}

/** Maps a text to one of `shards` objects, from 0: the same one for the same text, in every release. */
export function shardOf(text: string, shards: number): number {
  let sum = 0;
  for (const char of text) sum = (sum * 31 + (char.codePointAt(0) ?? 0)) % 1_000_003;
  return sum % shards;
}

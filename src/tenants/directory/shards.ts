// Owns which objects are the directory: as many as share the names. No tenant's object is named here.

import { shardOf } from "./shard.ts";

/** How many objects share the names. Never changed: a name would be looked for where it is not. */
export const SHARD_COUNT = 16;
/** With its number, the name of one. */
export const SHARD_PREFIX = "names-";

export function shardAt<T extends Rpc.DurableObjectBranded>(
  objects: DurableObjectNamespace<T>,
  at: number,
): DurableObjectStub<T> {
  return objects.getByName(`${SHARD_PREFIX}${at}`);
}

/** The one that has a tenant's id, or a hostname. */
export function shardFor<T extends Rpc.DurableObjectBranded>(
  objects: DurableObjectNamespace<T>,
  name: string,
): DurableObjectStub<T> {
  return shardAt(objects, shardOf(name, SHARD_COUNT));
}

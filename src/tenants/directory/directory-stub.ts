// Stubs of the directory's objects. Separate from directory.ts, which reads the isolate's policy cache.

import type { DirectoryObject } from "./directory-object.ts";
import { namespaceOf } from "./namespaces.ts";
import { shardAt, shardFor, SHARD_COUNT } from "./shards.ts";

/** The shard of a tenant's id or a hostname. */
export function directoryOf(env: object, name: string): DurableObjectStub<DirectoryObject> {
  return shardFor(namespaceOf<DirectoryObject>(env, "DirectoryObject"), name);
}

export function allShards(env: object): readonly DurableObjectStub<DirectoryObject>[] {
  const objects = namespaceOf<DirectoryObject>(env, "DirectoryObject");
  return Array.from({ length: SHARD_COUNT }, (_, at) => shardAt(objects, at));
}

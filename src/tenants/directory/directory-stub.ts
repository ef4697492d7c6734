// The objects that are the directory. Apart from directory.ts, which looks at what an isolate holds of tenants.

import type { DirectoryObject } from "./directory-object.ts";
import { namespaceOf } from "./namespaces.ts";
import { shardAt, shardFor, SHARD_COUNT } from "./shards.ts";

/** The shard that has a tenant's id, or a hostname. */
export function directoryOf(env: object, name: string): DurableObjectStub<DirectoryObject> {
  return shardFor(namespaceOf<DirectoryObject>(env, "DirectoryObject"), name);
}

export function allShards(env: object): readonly DurableObjectStub<DirectoryObject>[] {
  const objects = namespaceOf<DirectoryObject>(env, "DirectoryObject");
  return Array.from({ length: SHARD_COUNT }, (_, at) => shardAt(objects, at));
}

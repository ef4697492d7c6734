// Owns how operators' requests ask a shard of the directory: once more where the platform says that the call may be made again.

import { directoryOf, type DirectoryEnv } from "../../tenants/directory/directory.ts";
import type { DirectoryObject } from "../../tenants/directory/directory-object.ts";
import { askedAgain } from "../../tenants/isolate/asked-again.ts";

type Shard = DurableObjectStub<DirectoryObject>;

/** The shard of a tenant's id, or of a hostname. */
export function askedDirectory(env: DirectoryEnv, name: string): Shard {
  return new Proxy({} as Shard, {
    get:
      (_none, method) =>
      async (...args: [string]) =>
        askedAgain(`directory.${String(method)}`, () => directoryOf(env, name)[method as "lookup"](...args)),
  });
}

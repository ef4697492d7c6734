// Owns how operators' requests ask a shard of the directory: once more where the platform says that the call may be made again.

import type { DirectoryEnv } from "../../tenants/directory/directory.ts";
import { allShards, directoryOf } from "../../tenants/directory/directory-stub.ts";
import { idempotentMethods, type DirectoryObject } from "../../tenants/directory/directory-object.ts";
import { retryIfIdempotent } from "../../tenants/cache/retry-if-idempotent.ts";

type DirectoryShard = DurableObjectStub<DirectoryObject>;

/** The shard of a tenant's id, or of a hostname. */
export function retryingDirectory(env: DirectoryEnv, name: string): DirectoryShard {
  return withIdempotentRetry(() => directoryOf(env, name));
}

export function retryingShards(env: DirectoryEnv): readonly DirectoryShard[] {
  return allShards(env).map((_shard, at) => withIdempotentRetry(() => allShards(env)[at]));
}

/** What a document names no more, or a tenant that ended: the same once more changes nothing. */
export function releaseHostnameWithRetry(
  env: DirectoryEnv,
  ...[hostname, ...rest]: Parameters<DirectoryObject["releaseHostname"]>
): Promise<void> {
  return retryIfIdempotent(async () => {
    await directoryOf(env, hostname).releaseHostname(hostname, ...rest);
  });
}

/** `stubOf`: a new one for each call, because one that failed may be of no more use. */
function withIdempotentRetry(stubOf: () => DirectoryShard | undefined): DirectoryShard {
  return new Proxy({} as DirectoryShard, {
    get:
      (_none, method: "lookup") =>
      async (...args: [string]) => {
        const invoke = async () => stubOf()?.[method](...args);
        return idempotentMethods.has(method) ? retryIfIdempotent(invoke) : invoke();
      },
  });
}

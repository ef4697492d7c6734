// Calls a directory shard for operators' requests, with one retry if the platform says that the call can be repeated.

import type { DirectoryEnv } from "../../tenants/directory/directory.ts";
import { allShards, directoryOf } from "../../tenants/directory/directory-stub.ts";
import { idempotentMethods, type DirectoryObject } from "../../tenants/directory/directory-object.ts";
import { retryIfIdempotent } from "../../tenants/cache/retry-if-idempotent.ts";

type DirectoryShard = DurableObjectStub<DirectoryObject>;

export function retryingDirectory(env: DirectoryEnv, name: string): DirectoryShard {
  return withIdempotentRetry(() => directoryOf(env, name));
}

export function retryingShards(env: DirectoryEnv): readonly DirectoryShard[] {
  return allShards(env).map((_shard, at) => withIdempotentRetry(() => allShards(env)[at]));
}

/**
 * Releases a hostname of a deleted tenant, or one that a document no longer names. Repeating the call changes
 * nothing.
 */
export function releaseHostnameWithRetry(
  env: DirectoryEnv,
  ...[hostname, ...rest]: Parameters<DirectoryObject["releaseHostname"]>
): Promise<void> {
  return retryIfIdempotent(async () => {
    await directoryOf(env, hostname).releaseHostname(hostname, ...rest);
  });
}

/** `stubOf`: creates a new stub for each call, because a stub may be unusable after an error. */
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

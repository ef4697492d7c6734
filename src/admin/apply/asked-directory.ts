// Owns how operators' requests ask a shard of the directory: once more where the platform says that the call may be made again.

import type { DirectoryEnv } from "../../tenants/directory/directory.ts";
import { allShards, directoryOf } from "../../tenants/directory/directory-stub.ts";
import { idempotentMethods, type DirectoryObject } from "../../tenants/directory/directory-object.ts";
import { askedAgain } from "../../tenants/isolate/asked-again.ts";

type Shard = DurableObjectStub<DirectoryObject>;

/** The shard of a tenant's id, or of a hostname. */
export function askedDirectory(env: DirectoryEnv, name: string): Shard {
  return asked(() => directoryOf(env, name));
}

export function askedShards(env: DirectoryEnv): readonly Shard[] {
  return allShards(env).map((_shard, at) => asked(() => allShards(env)[at]));
}

/** What a document names no more, or a tenant that ended: the same once more changes nothing. */
export function releaseAgain(
  env: DirectoryEnv,
  ...[hostname, ...rest]: Parameters<DirectoryObject["releaseHostname"]>
): Promise<void> {
  return askedAgain(async () => {
    await directoryOf(env, hostname).releaseHostname(hostname, ...rest);
  });
}

/** `stubOf`: a new one for each call, because one that failed may be of no more use. */
function asked(stubOf: () => Shard | undefined): Shard {
  return new Proxy({} as Shard, {
    get:
      (_none, method: "lookup") =>
      async (...args: [string]) => {
        const ask = async () => stubOf()?.[method](...args);
        return idempotentMethods.has(method) ? askedAgain(ask) : ask();
      },
  });
}

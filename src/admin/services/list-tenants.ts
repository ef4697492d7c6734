// Owns lists of what all shards of the directory have, in the order of ids: each is asked for as many as are wanted.

import type { DirectoryEnv } from "../../tenants/directory/directory.ts";
import type { KnownTenants } from "../../tenants/directory/directory-object.ts";
import type { DirectoryEntry } from "../../tenants/directory/directory-object.ts";
import { shardOf } from "../../tenants/directory/shard.ts";
import { SHARD_COUNT } from "../../tenants/directory/shards.ts";
import { retryingShards } from "./retrying-directory.ts";

export interface ListRequest {
  readonly after: string | null;
  /** 1001 at most. */
  readonly limit: number;
}

/** Tenants that were made. */
export async function listEntries(
  env: DirectoryEnv,
  { after, limit }: ListRequest,
): Promise<readonly DirectoryEntry[]> {
  const pages = await Promise.all(retryingShards(env).map((shard) => shard.list(after, limit)));
  return pages
    .flat()
    .toSorted((a, b) => (a.id < b.id ? -1 : 1))
    .slice(0, limit);
}

/** Ids of those that the author's function declares, of which it was asked for. */
export async function listDeclared(env: DirectoryEnv, { after, limit }: ListRequest): Promise<readonly string[]> {
  const pages = await Promise.all(retryingShards(env).map((shard) => shard.listDeclared(after, limit)));
  return pages.flat().toSorted().slice(0, limit);
}

/** What the directory has of these ids: each shard is asked once. */
export async function listByIds(env: DirectoryEnv, ids: readonly string[]): Promise<KnownTenants> {
  const pages = await Promise.all(
    retryingShards(env).map(async (shard, at): Promise<KnownTenants> => {
      const own = ids.filter((id) => shardOf(id, SHARD_COUNT) === at);
      return own.length === 0 ? { entries: [], declared: [] } : shard.findTenants(own);
    }),
  );
  return { entries: pages.flatMap(({ entries }) => entries), declared: pages.flatMap(({ declared }) => declared) };
}

// Lists across all shards of the directory, in the order of ids. Each shard returns up to the requested number.

import type { DirectoryEnv } from "../../tenants/directory/directory.ts";
import type { KnownTenants, DirectoryEntry } from "../../tenants/directory/directory-object.ts";
import { shardOf, SHARD_COUNT } from "../../tenants/directory/shards.ts";
import { retryingShards } from "./retrying-directory.ts";

export interface ListRequest {
  readonly after: string | null;
  /** 1001 at most. */
  readonly limit: number;
}

/** Created tenants. */
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

/** Ids that the author's function declares and that were requested before. */
export async function listDeclared(env: DirectoryEnv, { after, limit }: ListRequest): Promise<readonly string[]> {
  const pages = await Promise.all(retryingShards(env).map((shard) => shard.listDeclared(after, limit)));
  return pages.flat().toSorted().slice(0, limit);
}

/** The directory's entries for these ids, with one call to each shard. */
export async function listByIds(env: DirectoryEnv, ids: readonly string[]): Promise<KnownTenants> {
  const pages = await Promise.all(
    retryingShards(env).map(async (shard, at): Promise<KnownTenants> => {
      const own = ids.filter((id) => shardOf(id, SHARD_COUNT) === at);
      return own.length === 0 ? { entries: [], declared: [] } : shard.findTenants(own);
    }),
  );
  return { entries: pages.flatMap(({ entries }) => entries), declared: pages.flatMap(({ declared }) => declared) };
}

// Owns lists of what all shards of the directory have, in the order of ids: each is asked for as many as are wanted.

import type { DirectoryEnv } from "../../tenants/directory/directory.ts";
import type { NamedHere } from "../../tenants/directory/directory-object.ts";
import type { DirectoryEntry } from "../../tenants/directory/directory-object.ts";
import { shardOf } from "../../tenants/directory/shard.ts";
import { SHARDS } from "../../tenants/directory/shards.ts";
import { askedShards } from "./asked-directory.ts";

export interface NamesAsk {
  readonly after: string | null;
  /** 1001 at most. */
  readonly limit: number;
}

/** Tenants that were made. */
export async function listEntries(env: DirectoryEnv, { after, limit }: NamesAsk): Promise<readonly DirectoryEntry[]> {
  const pages = await Promise.all(askedShards(env).map((shard) => shard.list(after, limit)));
  return pages
    .flat()
    .toSorted((a, b) => (a.id < b.id ? -1 : 1))
    .slice(0, limit);
}

/** Ids of those that the author's function declares, of which it was asked for. */
export async function listDeclared(env: DirectoryEnv, { after, limit }: NamesAsk): Promise<readonly string[]> {
  const pages = await Promise.all(askedShards(env).map((shard) => shard.listDeclared(after, limit)));
  return pages.flat().toSorted().slice(0, limit);
}

/** What the directory has of these ids: each shard is asked once. */
export async function listOfIds(env: DirectoryEnv, ids: readonly string[]): Promise<NamedHere> {
  const pages = await Promise.all(
    askedShards(env).map(async (shard, at): Promise<NamedHere> => {
      const own = ids.filter((id) => shardOf(id, SHARDS) === at);
      return own.length === 0 ? { entries: [], declared: [] } : shard.named(own);
    }),
  );
  return { entries: pages.flatMap(({ entries }) => entries), declared: pages.flatMap(({ declared }) => declared) };
}

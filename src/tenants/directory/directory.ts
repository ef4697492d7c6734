// Owns finding out whether a name is a tenant, from any isolate: names in code are known, names that this isolate serves
// are known, others are asked of the directory once and remembered as unknown for a moment. Wakes no tenant.

import type { DirectoryObject, Lookup } from "./directory-object.ts";

export interface DirectoryEnv {
  readonly DIRECTORY: DurableObjectNamespace<DirectoryObject>;
}

/** A new tenant may stay unknown to an isolate that was asked for it just before for this long. */
export const UNKNOWN_FOR_MS = 2000;
const MAX_UNKNOWN = 10_000;

const unknown = new Map<string, { readonly until: number; readonly anyPrivate: boolean }>();

/** The shard that keeps a name; one shard answers some thousand new names a second. */
export function directoryOf(env: DirectoryEnv): DurableObjectStub<DirectoryObject> {
  return env.DIRECTORY.getByName("shard-0");
}

export async function lookUp(env: DirectoryEnv, id: string): Promise<Lookup> {
  const known = unknown.get(id);
  if (known && Date.now() < known.until) return { entry: null, anyPrivate: known.anyPrivate };
  const found = await directoryOf(env).lookup(id);
  if (found.entry?.state === "active") return found;
  if (unknown.size >= MAX_UNKNOWN) unknown.clear();
  unknown.set(id, { until: Date.now() + UNKNOWN_FOR_MS, anyPrivate: found.anyPrivate });
  return { entry: null, anyPrivate: found.anyPrivate };
}

const hostnames = new Map<string, { readonly until: number; readonly tenant: string | null }>();

/** The tenant that a custom hostname belongs to; remembered, known or not, for a moment. */
export async function tenantOfHostname(env: DirectoryEnv, hostname: string): Promise<string | null> {
  const known = hostnames.get(hostname);
  if (known && Date.now() < known.until) return known.tenant;
  const tenant = await directoryOf(env).hostname(hostname);
  if (hostnames.size >= MAX_UNKNOWN) hostnames.clear();
  hostnames.set(hostname, { until: Date.now() + UNKNOWN_FOR_MS, tenant });
  return tenant;
}

/** Forgets what this isolate believed about a name that was just made or removed here. */
export function forgetName(name: string): void {
  unknown.delete(name);
  hostnames.delete(name);
}

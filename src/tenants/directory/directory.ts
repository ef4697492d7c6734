// Owns asking the directory whether a name or a hostname is a tenant's; an unknown name, and any hostname, is
// remembered for a moment. Refuses to wake a tenant. Nobody need ask about names in code, and about tenants that this
// isolate holds.

import { inTime } from "../isolate/in-time.ts";
import { lasts } from "../isolate/lasting.ts";
import type { Lookup } from "./lookups-object.ts";
import type { DirectoryObject } from "./directory-object.ts";

export interface DirectoryEnv {
  readonly DIRECTORY: DurableObjectNamespace<DirectoryObject>;
}

/**
 * An isolate that was asked for a name just before a tenant got it may not know the tenant for this long: as long as a lease
 * lasts that nobody chose, or else who asks again and again would see from the time it takes which names are tenants'.
 */
export const UNKNOWN_FOR_MS = 5000;
/** The same for hostnames, none of which is secret. */
export const HOSTNAME_FOR_MS = 2000;
const MAX_UNKNOWN = 10_000;

const unknown = new Map<string, { readonly until: number; readonly anyPrivate: boolean }>();

/** One object keeps all names; it answers some thousand new names a second. */
export function directoryOf(env: DirectoryEnv): DurableObjectStub<DirectoryObject> {
  return env.DIRECTORY.getByName("shard-0");
}

export interface NameLookup extends Lookup {
  /** Whether the directory was asked: about a name that this isolate did not know, or had known to be nobody's. */
  readonly asked: "first" | "again" | "not";
  /** A tenant of the name is being deleted, so nobody has it now. */
  readonly isEnding?: boolean;
}

export async function lookUp(env: DirectoryEnv, id: string): Promise<NameLookup> {
  const known = unknown.get(id);
  if (known && lasts(known.until, UNKNOWN_FOR_MS, Date.now()))
    return { entry: null, anyPrivate: known.anyPrivate, asked: "not" };
  const asked = known ? "again" : "first";
  const found = await inTime(directoryOf(env).lookup(id));
  if (found.entry?.state === "active") return { ...found, asked };
  if (unknown.size >= MAX_UNKNOWN) unknown.clear();
  unknown.set(id, { until: Date.now() + UNKNOWN_FOR_MS, anyPrivate: found.anyPrivate });
  return { entry: null, anyPrivate: found.anyPrivate, asked, isEnding: found.entry !== null };
}

const hostnames = new Map<string, { readonly until: number; readonly tenant: string | null }>();

/** The id of the tenant that a custom hostname belongs to, or null; either is remembered for a moment. */
export async function tenantOfHostname(env: DirectoryEnv, hostname: string): Promise<string | null> {
  const known = hostnames.get(hostname);
  if (known && lasts(known.until, HOSTNAME_FOR_MS, Date.now())) return known.tenant;
  const tenant = await inTime(directoryOf(env).hostname(hostname));
  if (hostnames.size >= MAX_UNKNOWN) hostnames.clear();
  hostnames.set(hostname, { until: Date.now() + HOSTNAME_FOR_MS, tenant });
  return tenant;
}

/** Forgets what this isolate remembers of a tenant's id or a hostname that it has just added or removed. */
export function forgetName(name: string): void {
  unknown.delete(name);
  hostnames.delete(name);
}

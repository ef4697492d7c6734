// Owns doing for a name that is nobody's what would be done for a tenant that takes keys, call for call: where the names of
// tenants are secret, no caller learns from the time that an answer takes whether there is one. Stores nothing of the name.

import { keyHashOf, memoOf, type Credential } from "../auth/credential.ts";
import { WHOEVER } from "../tenants/authority/incarnation.ts";
import { leaseTables } from "../tenants/authority/lease-tables.ts";
import { remote } from "../tenants/authority/tables.ts";
import { ANYWHERE, stubOf } from "../tenants/directory/placement.ts";
import { unknownSince, type NameLookup } from "../tenants/directory/directory.ts";
import { shardOf } from "../tenants/directory/shard.ts";
import { DEFAULT_MAX_STALENESS_MS, hourOf } from "../tenants/isolate/snapshot.ts";

/** Objects that are nobody's authority: as no tenant is in everybody's way, they are not either. */
const NOBODIES = 16;
const MAX_REFUSED = 10_000;

/**
 * Keys that were refused, with the name at which they were, and the hour: an isolate asks about a tenant's once in each, too.
 * Bound: MAX_REFUSED, then all are forgotten; a key has 53 characters.
 */
const refused = new Set<string>();

interface Asked {
  readonly asked: NameLookup["asked"];
  /** Whether the author's function knows tenants. */
  readonly isDeclaring: boolean;
}

export async function askNobody(
  env: { readonly TENANTS: DurableObjectNamespace },
  id: string,
  credential: Credential,
  { asked, isDeclaring }: Asked,
): Promise<void> {
  const memo = memoOf(credential);
  const key = memo === undefined ? undefined : [id, hourOf(unknownSince(id)), memo].join(" ");
  const isNew = key !== undefined && !refused.has(key);
  // A tenant's isolate asks once when it begins, once when its lease has ended, and once about each key.
  if (asked === "not" && !isNew) return;
  const keyHash = await keyHashOf(credential);
  // Where the directory was asked, that was in the place of a lease: KV tells where tenants are. A tenant of the author's
  // function is asked about there, too, before its first lease.
  if (asked === "not" || (asked === "first" && isDeclaring)) {
    // No tenant's id: those have no question mark.
    const stub = stubOf(env, { id: `?${shardOf(id, NOBODIES)}`, placement: ANYWHERE, incarnation: WHOEVER });
    const ask = { version: null, maxStalenessMs: DEFAULT_MAX_STALENESS_MS, inCode: false, keyHash, endedAfter: null };
    await remote(stub, leaseTables).lease(ask);
  }
  if (refused.size >= MAX_REFUSED) refused.clear();
  if (key !== undefined) refused.add(key);
}

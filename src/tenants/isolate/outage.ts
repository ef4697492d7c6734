// Owns what happens when a tenant's authority cannot be reached: the tenant is closed, or, where it is open and chose
// so, served for some time after its lease from this isolate's last snapshot or a copy of its document in KV, marked as
// stale. These grant and withdraw no access, so a tenant with suspensions is not served. An authority that is only
// overloaded counts as reachable.

import { isOverloaded, isRetryable } from "./asked-again.ts";
import { outageMsOf, type TenantDocument } from "../document/tenant-document.ts";
import { EndedSessions } from "./ended-sessions.ts";
import { lasts } from "./lasting.ts";
import { isLeased, BASE_BYTES, lastSnapshot, type Snapshot } from "./snapshot.ts";
import { keptUnder, OTHER_RELEASE, UNRELEASED, type Incarnation } from "../authority/incarnation.ts";
import { isTooSoon, onceASecond } from "../authority/once-a-second.ts";
import { ANYWHERE, type Placement } from "../directory/placement.ts";

const WRITE_EVERY_MS = 10_000;
/** KV keeps nothing for less than a minute. */
const LEAST_TTL_SECONDS = 60;
/** How long a stale snapshot is repeated, before a request waits for the authority again. */
const STALE_FOR_MS = 2000;

/**
 * Where the copy lies in KV. A tenant's end and every withdrawal delete it there. `entered`: as the directory has the
 * tenant; absent for one in code, which comes and goes with the code.
 */
export function outageKey(tenant: string, entered?: Incarnation): string {
  return `outage/${entered === undefined ? tenant : keptUnder(tenant, entered)}`;
}

/** Under an older lease it is the copy of that tenant, not of the one that has its name now. */
function keyOf({ tenant, created, inCode }: Snapshot): string {
  return inCode ? outageKey(tenant) : outageKey(tenant, created);
}

interface Copy {
  readonly created: Incarnation;
  readonly version: number;
  readonly document: TenantDocument;
  /** Milliseconds since the epoch: it is served before, and refused from then on. */
  readonly until: number;
}

/** What this isolate did last with the copy of a tenant, and when. */
interface Kept {
  readonly at: number;
  readonly version: number;
  readonly isThere: boolean;
}

/** By the copy's key. Bound: MAX_KEPT, the oldest is forgotten: its copy is written, or deleted, once more than needed. */
const kept = new Map<string, Kept>();
const MAX_KEPT = 10_000;
/** In place of the version: KV has not answered yet, or failed. */
const NOBODY_KNOWS = -1;

/** For how long after its lease this policy is served; 0: not at all. */
function staleMsOf({ policy: { document, suspensions } }: Pick<Snapshot, "policy">): number {
  return suspensions.length > 0 ? 0 : outageMsOf(document);
}

/** Writes or deletes the copy when that is due; undefined when it is not. Rejects when KV fails; the next lease retries. */
export function keepCopy(snapshot: Snapshot, bodies: KVNamespace): Promise<void> | undefined {
  const { created, version, policy, validUntil } = snapshot;
  const forMs = staleMsOf(snapshot);
  if (forMs === 0) return dropCopy(snapshot, bodies);
  const key = keyOf(snapshot);
  const last = kept.get(key);
  const every = last?.version === version ? Math.max(WRITE_EVERY_MS, forMs / 2) : WRITE_EVERY_MS;
  if (last && Date.now() < last.at + every) return undefined;
  const copy: Copy = { created, version, document: policy.document, until: validUntil + forMs };
  const expirationTtl = LEAST_TTL_SECONDS + Math.ceil((copy.until - Date.now()) / 1000);
  return settle(key, { at: Date.now(), version, isThere: true }, async () => {
    await bodies.put(key, JSON.stringify(copy), { expirationTtl }).catch((error: unknown) => {
      // Another isolate wrote it within the same second, which is as good.
      if (!isTooSoon(error)) throw error;
    });
    // A withdrawal that came in meanwhile deleted nothing, if this came after it.
    if (kept.get(key)?.isThere === false) await onceASecond(() => bodies.delete(key));
  });
}

/**
 * Deletes the copy at once, without waiting for `WRITE_EVERY_MS`: it must not be served any more. Asks KV for nothing
 * where this isolate wrote no copy and the document does not name `outage`: whoever withdrew deleted it, and it expires.
 */
function dropCopy(snapshot: Snapshot, bodies: KVNamespace): Promise<void> | undefined {
  const { version, policy } = snapshot;
  const isNamed = policy.document.outage !== undefined;
  // Each lease comes by here, and mostly nobody has a copy.
  if (kept.size === 0 && !isNamed) return undefined;
  const key = keyOf(snapshot);
  const last = kept.get(key);
  const isDone = last ? !last.isThere && last.version === version : !isNamed;
  if (isDone) return undefined;
  return settle(key, { at: 0, version, isThere: false }, () => onceASecond(() => bodies.delete(key)));
}

/** Only what KV has acknowledged counts as done. */
async function settle(key: string, done: Kept, work: () => Promise<void>): Promise<void> {
  const pending = { ...done, version: NOBODY_KNOWS };
  let known: Kept = { ...pending, at: 0 };
  kept.delete(key);
  kept.set(key, pending);
  const [[oldest] = [""]] = kept;
  if (kept.size > MAX_KEPT) kept.delete(oldest);
  try {
    await work();
    known = done;
  } finally {
    if (kept.get(key) === pending) kept.set(key, known);
  }
}

/** Said by an object of another release, or of a method that its code does not have, as the platform does. */
const SKEWED = new RegExp(`${OTHER_RELEASE}$|^no method|RPC receiver does not implement`);

/** Whether storage was refused that no release made. Nobody's waiting ends that. */
export function isUnreleased(error: unknown): boolean {
  return error instanceof Error && error.message === UNRELEASED;
}

/**
 * Whether the platform says that an object has too much to do, or that the same call may be answered in a moment; or the object
 * is of another release than this Worker, until one of the two is deployed everywhere.
 */
export function mayPass(error: unknown): boolean {
  if (isOverloaded(error)) return true;
  return isRetryable(error) || isSkewed(error) || isUnreleased(error);
}

/** Whether the object is of another release than this Worker. */
function isSkewed(error: unknown): boolean {
  return error instanceof Error && SKEWED.test(error.message);
}

/** A copy is repeated for as long as it is, and then the authority is asked. */
const NEVER_RENEWED = { from: Infinity };
const stale = new WeakSet<Snapshot>();
/** The last stale snapshot of a tenant, as long as it is repeated. Bound: MAX_REPEATED in bytes, then all are forgotten. */
const repeated = new Map<string, Snapshot>();
const MAX_REPEATED = 8 * 1024 * 1024;
let repeatedBytes = 0;

export function isStale(snapshot: Snapshot): boolean {
  return stale.has(snapshot);
}

/** What is made of a snapshot is as stale as that is. */
export function asStale(of: Snapshot, made: Snapshot): Snapshot {
  if (stale.has(of)) stale.add(made);
  return made;
}

/** What was served a moment ago because the authority was away. */
export function repeatedSnapshot(tenant: string): Snapshot | undefined {
  const snapshot = repeated.get(tenant);
  return snapshot && isLeased(snapshot) ? snapshot : undefined;
}

/** The authority answered: what was served without it is over. */
export function endOutage(tenant: string): void {
  repeatedBytes -= repeated.get(tenant)?.bytes ?? 0;
  repeated.delete(tenant);
}

/** undefined: this tenant is closed while its authority is away. */
export async function staleSnapshot(
  tenant: string,
  { created: entered }: Placement,
  bodies: KVNamespace,
): Promise<Snapshot | undefined> {
  const last = lastSnapshot(tenant);
  if (last) return aged(last, last.validUntil + staleMsOf(last), last.leaseMs + staleMsOf(last));
  const copy = await bodies.get<Omit<Copy, "until" | "created"> & Partial<Copy>>(outageKey(tenant, entered), "json");
  if (copy?.created === undefined) return undefined;
  const snapshot: Snapshot = {
    tenant,
    version: copy.version,
    created: copy.created,
    policy: { document: copy.document, suspensions: [], retired: [] },
    sections: new Map(),
    ring: [],
    seeded: true,
    validUntil: 0,
    leaseMs: 0,
    renewal: NEVER_RENEWED,
    keys: new Map(),
    asked: new Set(),
    keysHour: 0,
    derived: new Map(),
    ended: new EndedSessions(),
    bytes: BASE_BYTES + 2 * JSON.stringify(copy.document).length,
    // This snapshot is not held for other requests, so nobody finds the authority by its placement.
    placement: ANYWHERE,
    inCode: false,
  };
  return aged(snapshot, copy.until);
}

/** `until` and `mostMs` as `lasts` has them. */
function aged(snapshot: Snapshot, until = 0, mostMs = Infinity): Snapshot | undefined {
  const now = Date.now();
  if (!lasts(until, mostMs, now) || staleMsOf(snapshot) === 0) return undefined;
  // Without the keys that it knew: they may have been revoked since.
  const validUntil = Math.min(until, now + STALE_FOR_MS);
  const keys = new Map<string, null>();
  const copy = {
    ...snapshot,
    keys,
    asked: new Set<string>(),
    validUntil,
    leaseMs: STALE_FOR_MS,
    renewal: NEVER_RENEWED,
  };
  stale.add(copy);
  endOutage(snapshot.tenant);
  repeatedBytes += copy.bytes;
  if (repeatedBytes > MAX_REPEATED) {
    repeated.clear();
    repeatedBytes = copy.bytes;
  }
  repeated.set(snapshot.tenant, copy);
  return copy;
}

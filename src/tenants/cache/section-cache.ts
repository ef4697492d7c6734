// Owns what this isolate has of leased sections: fetched from KV at the first use, kept by hash within a budget of
// bytes for all tenants, and written by whoever made one. A hash names its content, so what is kept here can never be old.

import { AppError } from "../../protocol/app-error.ts";
import { withCleanup } from "../object/tenant-uid.ts";
import { retryKvWrite } from "../object/retry-kv-write.ts";
import { CONTAINER_BYTES } from "../../protocol/jsonrpc.ts";
import type { RpcClient } from "../object/store.ts";
import {
  MAX_SECTION_BYTES,
  sectionKey,
  type SectionBody,
  type SectionMethods,
  type PutSectionResult,
  type SectionWriteResult,
} from "../object/section-store.ts";
import { withTimeout } from "./with-timeout.ts";
import { clearCatalogMemo } from "./policy-cache.ts";

const MAX_BYTES = 62 * 1024 * 1024;
/**
 * A section takes several times its own bytes, with what is parsed of it and the sources and views that are made of that.
 * Measured: 2.8 times with definitions of 2 KB, about 4 with 1 KB, 7 with 250 bytes; 16 times where all is empty lists, so
 * each object and list counts as `CONTAINER_BYTES` more.
 */
const COST_FACTOR = 4;
const OPEN_OBJECT = 0x7b;
const OPEN_ARRAY = 0x5b;
/** What one costs beside that: its key, its hash, and the objects that hold it. */
const ENTRY_BYTES = 1024;
const KV_CACHE_SECONDS = 86_400;
/** How long KV is waited for, and then the authority: all of a tenant's requests wait for its sections. */
const TIMEOUT_MS = 2000;
/** KV takes one write of a key in a second. */
const RESEND_AFTER_MS = [0, 1100, 1100] as const;

export interface Section {
  readonly hash: string;
  readonly bytes: Uint8Array;
}

export interface SectionLocation {
  /** What stands for the tenant in the keys of bodies: `keptUnder`. */
  readonly storageKey: string;
  readonly bodies: KVNamespace;
  /** The tenant's authority. */
  readonly sections: () => RpcClient<SectionMethods>;
}

interface CachedSection extends Section {
  readonly cost: number;
}

interface TenantSections {
  readonly byHash: Map<string, CachedSection>;
  bytes: number;
}

/** By tenant, as `SectionPlace.kept`. Bound: MAX_BYTES, as ENTRY_BYTES each at least; see `makeRoom`. */
const cache = new Map<string, TenantSections>();
let cachedBytes = 0;

/** The section if this isolate has it: no call is made. `of`: as `SectionPlace.kept`. */
export function getCachedSection(storageKey: string, hash: string): Section | undefined {
  return cache.get(storageKey)?.byHash.get(hash);
}

/** Lets go of the tenant's other sections: newer ones took their place. */
export function retainSections(storageKey: string, hashes: Iterable<string>): void {
  const sections = cache.get(storageKey);
  if (!sections) return;
  const retained = new Set(hashes);
  for (const [hash, section] of sections.byHash) {
    if (retained.has(hash)) continue;
    sections.byHash.delete(hash);
    adjustBytes(sections, -section.cost);
  }
  if (sections.byHash.size === 0) cache.delete(storageKey);
}

/**
 * undefined: neither KV nor the authority has it, because a newer one took its place. Throws when the authority, which
 * is asked where KV fails, cannot be reached in time.
 */
export async function loadSection(location: SectionLocation, hash: string): Promise<Section | undefined> {
  const cached = getCachedSection(location.storageKey, hash);
  if (cached) return cached;
  const key = sectionKey(location.storageKey, hash);
  const stored = await withTimeout(
    location.bodies.get(key, { type: "arrayBuffer", cacheTtl: KV_CACHE_SECONDS }),
    TIMEOUT_MS,
  ).catch(() => null);
  // KV may take a minute to show it everywhere, and what it shows may be another body: the authority has the one.
  const isMatch = stored !== null && (await hashOf(stored)) === hash;
  const body = isMatch ? stored : await withTimeout(location.sections().body(hash), TIMEOUT_MS);
  if (!body) return undefined;
  const bytes = new Uint8Array(body);
  const section = { hash, bytes, cost: costOf(bytes) };
  cacheSection(location.storageKey, section);
  return section;
}

export interface NewSection extends Pick<SectionBody, "name"> {
  readonly bytes: Uint8Array;
}

/**
 * Writes nothing where the section is as it was, else to KV before it tells the authority, so that whoever learns the hash
 * finds the body; again while an older copy of it is being deleted, some times, and then throws `busy`; `unknownTenant` where
 * the tenant is gone. What KV does not take, because it is away or had the same body within a second, isolates get from the
 * authority until it is written the next time.
 */
export async function writeSection(
  location: SectionLocation,
  { name, bytes: body }: NewSection,
): Promise<SectionWriteResult> {
  if (body.byteLength > MAX_SECTION_BYTES) return { state: "full" };
  const hash = await hashOf(body);
  const key = sectionKey(location.storageKey, hash);
  // Most readings find what the one before found: neither a write of KV nor a body on its way is paid for then.
  const isCurrent = location.sections().has(name, hash);
  if (await isCurrent.catch(() => false)) return { state: "unchanged" };
  const section = { name, hash, body: new Uint8Array(body).buffer };
  let resendToken: number | null = null;
  for (const wait of RESEND_AFTER_MS) {
    if (wait > 0) await scheduler.wait(wait);
    const unstored = await withTimeout(location.bodies.put(key, body), TIMEOUT_MS).then(
      () => false,
      () => true,
    );
    const result: PutSectionResult = await withCleanup(
      location.sections().put({ ...section, resent: resendToken, unstored }),
      () => retryKvWrite(() => location.bodies.delete(key)),
    );
    if (result.state !== "resend") return result;
    resendToken = result.collected;
  }
  throw new AppError("busy", { retryAfter: 5 });
}

async function hashOf(body: BufferSource): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", body));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function costOf(bytes: Uint8Array): number {
  let containers = 0;
  // Those in strings too: they are few, and to know takes longer.
  for (let at = 0; at < bytes.length; at += 1) {
    if (bytes[at] === OPEN_OBJECT || bytes[at] === OPEN_ARRAY) containers += 1;
  }
  return ENTRY_BYTES + COST_FACTOR * (bytes.byteLength + CONTAINER_BYTES * containers);
}

function adjustBytes(sections: TenantSections, delta: number): void {
  sections.bytes += delta;
  cachedBytes += delta;
}

function cacheSection(storageKey: string, section: CachedSection): void {
  const sections = cache.get(storageKey) ?? { byHash: new Map<string, CachedSection>(), bytes: 0 };
  if (sections.byHash.has(section.hash)) return;
  cache.set(storageKey, sections);
  sections.byHash.set(section.hash, section);
  adjustBytes(sections, section.cost);
  evictSections(storageKey);
}

/**
 * Drops tenants by chance, each byte of memory as likely as another: where more tenants are called in turn than fit, the one
 * that was not called for longest is the very next one, and dropping that one would serve nobody from memory. Large tenants
 * go rather than small ones, and never the one that is loaded.
 */
function evictSections(storageKey: string): void {
  while (cachedBytes > MAX_BYTES && cache.size > 1) {
    let remaining = Math.random() * (cachedBytes - (cache.get(storageKey)?.bytes ?? 0));
    let dropped: string | undefined;
    for (const [tenant, { bytes }] of cache) {
      if (tenant === storageKey) continue;
      dropped = tenant;
      remaining -= bytes;
      if (remaining < 0) break;
    }
    if (dropped === undefined) return;
    cachedBytes -= cache.get(dropped)?.bytes ?? 0;
    cache.delete(dropped);
    clearCatalogMemo(dropped);
  }
}

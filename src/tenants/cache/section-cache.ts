// Caches leased sections: read from KV at first use and kept by hash, within one byte budget for all tenants. Also
// writes sections. A hash names its content, so a cached section is never stale.

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
 * The memory cost of a section is several times its bytes, with the parsed value, sources and views. Measured: 2.8
 * times with definitions of 2 KB, about 4 with 1 KB, 7 with 250 bytes, 16 with only empty lists. So each object and
 * list counts `CONTAINER_BYTES` more.
 */
const COST_FACTOR = 4;
const OPEN_OBJECT = 0x7b;
const OPEN_ARRAY = 0x5b;
/** The cost of an entry besides that: its key, its hash and the objects that hold it. */
const ENTRY_BYTES = 1024;
const KV_CACHE_SECONDS = 86_400;
/** How long KV is waited for, and then the tenant object. All requests of a tenant wait for its sections. */
const TIMEOUT_MS = 2000;
/** KV accepts one write of a key per second. */
const RESEND_AFTER_MS = [0, 1100, 1100] as const;

export interface Section {
  readonly hash: string;
  readonly bytes: Uint8Array;
}

export interface SectionLocation {
  /** The tenant's prefix in the keys of bodies: `storageKey()`. */
  readonly storageKey: string;
  readonly bodies: KVNamespace;
  /** The tenant object. */
  readonly sections: () => RpcClient<SectionMethods>;
}

interface CachedSection extends Section {
  readonly cost: number;
}

interface TenantSections {
  readonly byHash: Map<string, CachedSection>;
  bytes: number;
}

/** By `SectionLocation.storageKey`. Bound: MAX_BYTES; each section costs ENTRY_BYTES at least. See `evictSections`. */
const cache = new Map<string, TenantSections>();
let cachedBytes = 0;

/** The section, if this isolate has it; makes no call. `storageKey`: as in `SectionLocation`. */
export function getCachedSection(storageKey: string, hash: string): Section | undefined {
  return cache.get(storageKey)?.byHash.get(hash);
}

/** Drops the tenant's other sections, which newer ones replaced. */
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
 * undefined: neither KV nor the tenant object has the section, because a newer one replaced it. If KV fails, the tenant
 * object is asked. Throws if it cannot be reached in time.
 */
export async function loadSection(location: SectionLocation, hash: string): Promise<Section | undefined> {
  const cached = getCachedSection(location.storageKey, hash);
  if (cached) return cached;
  const key = sectionKey(location.storageKey, hash);
  const stored = await withTimeout(
    location.bodies.get(key, { type: "arrayBuffer", cacheTtl: KV_CACHE_SECONDS }),
    TIMEOUT_MS,
  ).catch(() => null);
  // KV may take a minute to show a write everywhere, and may show another body. The tenant object has the right one.
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
 * Writes a section, unless it is unchanged. KV is written before the tenant object, so that an isolate that learns the
 * hash finds the body. While an older copy is being deleted, the write is repeated a few times; then it throws `busy`.
 * Throws `unknownTenant` if the tenant is gone. KV may not take the body, because it is down or had the same key within
 * a second. Isolates then get the body from the tenant object until the next write.
 */
export async function writeSection(
  location: SectionLocation,
  { name, bytes: body }: NewSection,
): Promise<SectionWriteResult> {
  if (body.byteLength > MAX_SECTION_BYTES) return { state: "full" };
  const hash = await hashOf(body);
  const key = sectionKey(location.storageKey, hash);
  // Most refreshes find no change. The check saves a KV write and the transfer of a body.
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
      location.sections().put({ ...section, resendToken, unstored }),
      () => retryKvWrite(() => location.bodies.delete(key)),
    );
    if (result.state !== "resend") return result;
    resendToken = result.resendToken;
  }
  throw new AppError("busy", { retryAfter: 5 });
}

async function hashOf(body: BufferSource): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", body));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function costOf(bytes: Uint8Array): number {
  let containers = 0;
  // Also counts braces inside strings: they are few, and parsing to exclude them takes longer.
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
 * Evicts tenants at random, weighted by bytes. If more tenants are called in turn than fit, the least recently used one
 * is the very next one, and LRU would never hit. Large tenants go before small ones. The tenant that is being loaded
 * stays.
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

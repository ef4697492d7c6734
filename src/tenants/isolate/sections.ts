// Owns what this isolate has of leased sections: fetched from KV at the first use, kept by hash within a budget of
// bytes, and written by whoever made one. A hash names its content, so what is kept here can never be old.

import type { Remote } from "../authority/tables.ts";
import { sectionKey, type SectionMethods, type SectionWrite } from "../authority/section-tables.ts";

const MAX_BYTES = 16 * 1024 * 1024;
const KV_CACHE_SECONDS = 86_400;

export interface Section {
  readonly hash: string;
  readonly bytes: Uint8Array;
}

export interface SectionPlace {
  readonly tenant: string;
  readonly bodies: KVNamespace;
  /** The tenant's authority. */
  readonly sections: () => Remote<SectionMethods>;
}

/** By tenant and hash, least recently used first. */
const kept = new Map<string, Section>();
let bytes = 0;

/** The section if this isolate has it: no call is made. */
export function recallSection(tenant: string, hash: string): Section | undefined {
  const key = sectionKey(tenant, hash);
  const section = kept.get(key);
  if (section) {
    kept.delete(key);
    kept.set(key, section);
  }
  return section;
}

/** undefined: neither KV nor the authority has it, because a newer one took its place. */
export async function loadSection(place: SectionPlace, hash: string): Promise<Section | undefined> {
  const known = recallSection(place.tenant, hash);
  if (known) return known;
  const key = sectionKey(place.tenant, hash);
  const stored = await place.bodies.get(key, { type: "arrayBuffer", cacheTtl: KV_CACHE_SECONDS });
  // KV may take a minute to show it everywhere; until then the authority has it.
  const body = stored ?? (await place.sections().body(hash));
  if (!body) return undefined;
  const section = { hash, bytes: new Uint8Array(body) };
  keep(key, section);
  return section;
}

/** Writes to KV before it tells the authority, so that whoever learns the hash finds the body. */
export async function writeSection(place: SectionPlace, name: string, body: Uint8Array): Promise<SectionWrite> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", body));
  const hash = Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
  await place.bodies.put(sectionKey(place.tenant, hash), body);
  return place.sections().put({ name, hash, body: new Uint8Array(body).buffer });
}

function keep(key: string, section: Section): void {
  if (kept.has(key)) return;
  kept.set(key, section);
  bytes += section.bytes.byteLength;
  for (const [oldest, dropped] of kept) {
    if (bytes <= MAX_BYTES || oldest === key) break;
    kept.delete(oldest);
    bytes -= dropped.bytes.byteLength;
  }
}

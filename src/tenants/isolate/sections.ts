// Owns what this isolate has of leased sections: fetched from KV at the first use, kept by hash within a budget of
// bytes, and written by whoever made one. A hash names its content, so what is kept here can never be old.

import { AppError } from "../../protocol/app-error.ts";
import { orClearUp } from "../authority/incarnation.ts";
import { onceASecond } from "../authority/once-a-second.ts";
import type { Remote } from "../authority/tables.ts";
import {
  MAX_SECTION_BYTES,
  sectionKey,
  type SectionBody,
  type SectionMethods,
  type SectionPut,
  type SectionWrite,
} from "../authority/section-tables.ts";
import { inTime } from "./in-time.ts";

const MAX_BYTES = 16 * 1024 * 1024;
/** What one costs beside its own bytes: its key, its hash, and the objects that hold it. */
const ENTRY_BYTES = 1024;
const KV_CACHE_SECONDS = 86_400;
/** How long KV is waited for, and then the authority: all of a tenant's requests wait for its sections. */
const PATIENCE_MS = 2000;
/** KV takes one write of a key in a second. */
const RESEND_AFTER_MS = [0, 1100, 1100] as const;

export interface Section {
  readonly hash: string;
  readonly bytes: Uint8Array;
}

export interface SectionPlace {
  /** What stands for the tenant in the keys of bodies: `keptUnder`. */
  readonly kept: string;
  readonly bodies: KVNamespace;
  /** The tenant's authority. */
  readonly sections: () => Remote<SectionMethods>;
}

/** By key, least recently used first. Bound: MAX_BYTES, as ENTRY_BYTES each at least; the oldest goes. */
const kept = new Map<string, Section>();
let bytes = 0;

/** The section if this isolate has it: no call is made. `of`: as `SectionPlace.kept`. */
export function recallSection(of: string, hash: string): Section | undefined {
  const key = sectionKey(of, hash);
  const section = kept.get(key);
  if (section) {
    kept.delete(key);
    kept.set(key, section);
  }
  return section;
}

/**
 * undefined: neither KV nor the authority has it, because a newer one took its place. Throws when the authority, which
 * is asked where KV fails, cannot be reached in time.
 */
export async function loadSection(place: SectionPlace, hash: string): Promise<Section | undefined> {
  const known = recallSection(place.kept, hash);
  if (known) return known;
  const key = sectionKey(place.kept, hash);
  const stored = await inTime(
    place.bodies.get(key, { type: "arrayBuffer", cacheTtl: KV_CACHE_SECONDS }),
    PATIENCE_MS,
  ).catch(() => null);
  // KV may take a minute to show it everywhere, and what it shows may be another body: the authority has the one.
  const isIt = stored !== null && (await hashOf(stored)) === hash;
  const body = isIt ? stored : await inTime(place.sections().body(hash), PATIENCE_MS);
  if (!body) return undefined;
  const section = { hash, bytes: new Uint8Array(body) };
  keep(key, section);
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
export async function writeSection(place: SectionPlace, { name, bytes: body }: NewSection): Promise<SectionWrite> {
  if (body.byteLength > MAX_SECTION_BYTES) return { state: "full" };
  const hash = await hashOf(body);
  const key = sectionKey(place.kept, hash);
  // Most readings find what the one before found: neither a write of KV nor a body on its way is paid for then.
  const isThere = place.sections().has(name, hash);
  if (await isThere.catch(() => false)) return { state: "unchanged" };
  const section = { name, hash, body: new Uint8Array(body).buffer };
  let resent: number | null = null;
  for (const wait of RESEND_AFTER_MS) {
    if (wait > 0) await scheduler.wait(wait);
    const unstored = await inTime(place.bodies.put(key, body), PATIENCE_MS).then(
      () => false,
      () => true,
    );
    const done: SectionPut = await orClearUp(place.sections().put({ ...section, resent, unstored }), () =>
      onceASecond(() => place.bodies.delete(key)),
    );
    if (done.state !== "resend") return done;
    resent = done.collected;
  }
  throw new AppError("busy", { retryAfter: 5 });
}

async function hashOf(body: BufferSource): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", body));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function keep(key: string, section: Section): void {
  if (kept.has(key)) return;
  kept.set(key, section);
  bytes += ENTRY_BYTES + section.bytes.byteLength;
  for (const [oldest, dropped] of kept) {
    if (bytes <= MAX_BYTES || oldest === key) break;
    kept.delete(oldest);
    bytes -= ENTRY_BYTES + dropped.bytes.byteLength;
  }
}

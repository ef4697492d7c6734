// Stores and reads the bodies of resources. They are in KV under keys that name the content, and for some minutes also
// in copies beside the index, because KV may report a new key as missing for a minute in some places. One writer at a
// time uploads a body.

import { AppError } from "../protocol/app-error.ts";
import { omitUndefined } from "../protocol/members.ts";
import type { ResourceBody } from "../handlers/resource-store.ts";
import { withCleanup } from "../tenants/object/tenant-uid.ts";
import { retryKvWrite } from "../tenants/object/retry-kv-write.ts";
import { MEMORY_BUDGET, MEMORY_RETRY_AFTER_S, SMALL_BYTES } from "../tenants/cache/memory-budget.ts";
import { withTimeout } from "../tenants/cache/with-timeout.ts";
import { getCachedBody, cacheBody } from "./body-cache.ts";
import type { PutResource, PutResult, ContentRpc } from "./content-store.ts";
import { PART_BYTES } from "./copy-parts.ts";
import type { Edit } from "./edit.ts";
import { bodyKey, type NewRow, type ResourceRow } from "./resource-row.ts";
import { MAX_SEARCH_CHARACTERS } from "./text-index.ts";

const MAX_COPY_BYTES = 256 * 1024;
const KV_CACHE_SECONDS = 86_400;
/** If KV takes longer, a copy is tried. */
const KV_TIMEOUT_MS = 10_000;
const MISS_RETRY_DELAYS_MS = [50, 200, 500] as const;
/** Delays between upload claims, for the time in which another writer uploads and for KV's one second. */
const CLAIM_DELAYS_MS = [0, 50, 100, 200, 400, 800, 800, 800] as const;

/** The location of a tenant's resources. */
export interface ContentLocation {
  /** Stands for the tenant in the keys of bodies; see `storageKey`. */
  readonly storageKey: string;
  readonly content: ContentRpc;
  readonly bodies: KVNamespace;
}

/** A large body is in memory twice while it is read, so only some are read at a time. */
export async function withReservedMemory<T>({ size, uri }: ResourceRow, read: () => Promise<T>): Promise<T> {
  if (size <= SMALL_BYTES) return read();
  const reservation = MEMORY_BUDGET.createReservation();
  for (const wait of [0, ...MISS_RETRY_DELAYS_MS]) {
    if (wait > 0) await scheduler.wait(wait);
    if (reservation.resize(2 * size)) return read().finally(() => reservation.release());
  }
  throw new AppError("busy", {
    retryAfter: MEMORY_RETRY_AFTER_S,
    cause: new Error(`not enough free memory to read ${uri}`),
  });
}

export async function readBody(location: ContentLocation, row: ResourceRow): Promise<ResourceBody> {
  const key = bodyKey(location.storageKey, row.hash);
  const bytes = getCachedBody(key) ?? (await fetchBody(location, key, row));
  if (!bytes)
    throw new AppError("busy", { retryAfter: 5, cause: new Error(`the body of ${row.uri} is not in KV yet`) });
  cacheBody(key, bytes);
  // A copy, because other requests read the cached bytes. A byte order mark stays: it is part of the stored content.
  return row.binary
    ? { blob: new Uint8Array(bytes.slice(0)) }
    : { text: new TextDecoder("utf-8", { fatal: false, ignoreBOM: true }).decode(bytes) };
}

/**
 * KV may miss a new body in distant places for a minute, or be down. Then the copy beside the index is read, then KV
 * again. Returns undefined if the body is nowhere now. Rejects with KV's error if KV is down and there is no copy.
 */
async function fetchBody(
  { content, bodies }: ContentLocation,
  key: string,
  { hash, size }: ResourceRow,
): Promise<ArrayBuffer | undefined> {
  const kvErrors: unknown[] = [];
  const nullOnError = (error: unknown) => {
    kvErrors.push(error);
    return null;
  };
  const reading = bodies.get(key, { type: "arrayBuffer", cacheTtl: KV_CACHE_SECONDS });
  const first = await withTimeout(reading, KV_TIMEOUT_MS).catch(nullOnError);
  if (first) return first;
  const copy = await (size <= MAX_COPY_BYTES ? content.readCopy(hash) : joinParts(content, hash, size));
  if (copy) return copy;
  for (const wait of MISS_RETRY_DELAYS_MS) {
    await scheduler.wait(wait);
    const again = await bodies.get(key, { type: "arrayBuffer" }).catch(nullOnError);
    if (again) return again;
  }
  if (kvErrors.length > 0) throw kvErrors[0];
  return undefined;
}

/** Returns undefined if a part is missing. */
async function joinParts(content: ContentRpc, hash: string, size: number): Promise<ArrayBuffer | undefined> {
  const body = new Uint8Array(size);
  for (let at = 0; at < size; at += PART_BYTES) {
    const part = await content.readPart(hash, at);
    if (!part) return undefined;
    body.set(new Uint8Array(part), at);
  }
  return body.buffer;
}

export interface StoredBody {
  readonly row: NewRow;
  readonly bytes: Uint8Array;
  readonly searchText: string;
}

export type StoreResult = Exclude<PutResult, { state: "resend" }>;

/**
 * Stores a body and its row. The body is uploaded only if KV lacks it and no other writer uploads it. Throws `busy`
 * after some tries.
 */
export async function storeBody(
  location: ContentLocation,
  { row, bytes, searchText }: StoredBody,
  options: Pick<PutResource, "maxResources" | "maxBytes"> & { readonly ifAbsent?: boolean; readonly edit?: Edit },
): Promise<StoreResult> {
  const put: Omit<PutResource, "resendToken"> = {
    row,
    searchText: searchText.slice(0, MAX_SEARCH_CHARACTERS),
    // Not `bytes.slice().buffer`: for a Buffer that is its whole pool, which holds other data.
    copy: bytes.byteLength <= MAX_COPY_BYTES ? new Uint8Array(bytes).buffer : null,
    ifAbsent: options.ifAbsent ?? false,
    maxResources: options.maxResources,
    maxBytes: options.maxBytes ?? null,
    ...omitUndefined({ edit: options.edit }),
  };
  const deleteBody = () => retryKvWrite(() => location.bodies.delete(bodyKey(location.storageKey, row.hash)));
  let cause: unknown;
  let uploader = crypto.randomUUID();
  for (const wait of CLAIM_DELAYS_MS) {
    if (wait > 0) await scheduler.wait(wait);
    const claim = await location.content.claimUpload(row.hash, uploader);
    if (claim.state === "wait") continue;
    try {
      if (claim.state === "upload") await uploadBody(location, row.hash, bytes);
    } catch (error) {
      // KV failed, or had a write of the same body within a second. This writer keeps its claim, and others wait for
      // it.
      cause = error;
      continue;
    }
    // The body was deleted in the meantime. The repeated upload waits for KV's one second like any other.
    uploader = crypto.randomUUID();
    const resendToken = claim.state === "upload" ? claim.resendToken : null;
    const result: PutResult = await withCleanup(location.content.put({ ...put, resendToken }), deleteBody);
    if (result.state !== "resend") return result;
  }
  throw new AppError("busy", { retryAfter: 5, cause });
}

/** Rejects with KV's error. A large body has no copy in the index row, so its copy is stored in parts. */
async function uploadBody(
  { storageKey, content, bodies }: ContentLocation,
  hash: string,
  bytes: Uint8Array,
): Promise<void> {
  await bodies.put(bodyKey(storageKey, hash), bytes);
  for (let at = 0; bytes.byteLength > MAX_COPY_BYTES && at < bytes.byteLength; at += PART_BYTES) {
    const part = new Uint8Array(bytes.subarray(at, at + PART_BYTES)).buffer;
    // The body is in KV anyway: if there is no room, the copy is skipped.
    if (!(await content.storePart(hash, at, part).catch(() => false))) break;
  }
}

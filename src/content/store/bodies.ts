// Owns how a Worker stores and reads the body of a resource: in KV, whose key says the content, and for some minutes in copies beside
// the index, because KV may say somewhere for a minute that it has none. A body is uploaded by one writer at a time.

import { AppError } from "../../protocol/app-error.ts";
import { given } from "../../protocol/members.ts";
import type { ResourceBody } from "../../calls/resource-store.ts";
import { orClearUp } from "../../tenants/authority/incarnation.ts";
import { onceASecond } from "../../tenants/authority/once-a-second.ts";
import { HELD, ROOM_AFTER_S, SMALL_BYTES } from "../../tenants/isolate/held-bytes.ts";
import { inTime } from "../../tenants/isolate/in-time.ts";
import { recallBody, rememberBody } from "./body-cache.ts";
import type { PutResource, PutResult, RemoteContent } from "./content-tables.ts";
import { PART_BYTES } from "./copy-parts.ts";
import type { Edit } from "./edit.ts";
import { bodyKey, type NewRow, type ResourceRow } from "./resource-row.ts";
import { MAX_SEARCH_CHARACTERS } from "./text-index.ts";

const MAX_COPY_BYTES = 256 * 1024;
const KV_CACHE_SECONDS = 86_400;
/** Where KV is silent for longer, there may be a copy. */
const KV_WITHIN_MS = 10_000;
const MISS_RETRY_MS = [50, 200, 500] as const;
/** When it is asked who uploads a body: while another one does, and KV's second lasts. */
const CLAIM_AFTER_MS = [0, 50, 100, 200, 400, 800, 800, 800] as const;

/** Where a tenant's resources are. */
export interface ContentPlace {
  /** What stands for the tenant in the keys of bodies: `keptUnder`. */
  readonly kept: string;
  readonly content: RemoteContent;
  readonly bodies: KVNamespace;
}

/** A large body is in memory twice while it is read, so only so many are read at a time. */
export async function inRoom<T>({ size, uri }: ResourceRow, read: () => Promise<T>): Promise<T> {
  if (size <= SMALL_BYTES) return read();
  const share = HELD.open();
  for (const wait of [0, ...MISS_RETRY_MS]) {
    if (wait > 0) await scheduler.wait(wait);
    if (share.resize(2 * size)) return read().finally(() => share.release());
  }
  throw new AppError("busy", { retryAfter: ROOM_AFTER_S, cause: new Error(`no room to read ${uri}`) });
}

export async function readBody(place: ContentPlace, row: ResourceRow): Promise<ResourceBody> {
  const key = bodyKey(place.kept, row.hash);
  const bytes = recallBody(key) ?? (await fetchBody(place, key, row));
  if (!bytes) throw new AppError("busy", { retryAfter: 5, cause: new Error(`no body for ${row.uri}`) });
  rememberBody(key, bytes);
  // A copy, because others read the remembered bytes. A byte order mark is kept: it is part of what was stored.
  return row.binary
    ? { blob: new Uint8Array(bytes.slice(0)) }
    : { text: new TextDecoder("utf-8", { fatal: false, ignoreBOM: true }).decode(bytes) };
}

/**
 * A new body may be missing from KV far away for a minute, or KV be away: then the copy beside the index is read, then KV
 * again. undefined: nobody has it now. Rejects as KV does where it is away and there is no copy.
 */
async function fetchBody(
  { content, bodies }: ContentPlace,
  key: string,
  { hash, size }: ResourceRow,
): Promise<ArrayBuffer | undefined> {
  const away: unknown[] = [];
  const none = (error: unknown) => {
    away.push(error);
    return null;
  };
  const reading = bodies.get(key, { type: "arrayBuffer", cacheTtl: KV_CACHE_SECONDS });
  const first = await inTime(reading, KV_WITHIN_MS).catch(none);
  if (first) return first;
  const copy = await (size <= MAX_COPY_BYTES ? content.copy(hash) : joinParts(content, hash, size));
  if (copy) return copy;
  for (const wait of MISS_RETRY_MS) {
    await scheduler.wait(wait);
    const again = await bodies.get(key, { type: "arrayBuffer" }).catch(none);
    if (again) return again;
  }
  if (away.length > 0) throw away[0];
  return undefined;
}

/** undefined: not all of it is there. */
async function joinParts(content: RemoteContent, hash: string, size: number): Promise<ArrayBuffer | undefined> {
  const body = new Uint8Array(size);
  for (let at = 0; at < size; at += PART_BYTES) {
    const part = await content.part(hash, at);
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

/** Stores a body and its row; the body where KV has it not, and no other writer uploads it. Throws `busy` after some tries. */
export async function storeBody(
  to: ContentPlace,
  { row, bytes, searchText }: StoredBody,
  how: Pick<PutResource, "maxResources" | "maxBytes"> & { readonly ifAbsent?: boolean; readonly edit?: Edit },
): Promise<StoreResult> {
  const put: Omit<PutResource, "resent"> = {
    row,
    searchText: searchText.slice(0, MAX_SEARCH_CHARACTERS),
    // Not `bytes.slice().buffer`: for a Buffer that is its whole pool, which holds other things.
    copy: bytes.byteLength <= MAX_COPY_BYTES ? new Uint8Array(bytes).buffer : null,
    ifAbsent: how.ifAbsent ?? false,
    maxResources: how.maxResources,
    maxBytes: how.maxBytes ?? null,
    ...given({ edit: how.edit }),
  };
  const clearUp = () => onceASecond(() => to.bodies.delete(bodyKey(to.kept, row.hash)));
  let cause: unknown;
  let by = crypto.randomUUID();
  for (const wait of CLAIM_AFTER_MS) {
    if (wait > 0) await scheduler.wait(wait);
    const claim = await to.content.holds(row.hash, by);
    if (claim.state === "wait") continue;
    try {
      if (claim.state === "upload") await upload(to, row.hash, bytes);
    } catch (error) {
      // KV failed, or had a write of the same body within a second: it is this writer's turn yet, and others wait for it.
      cause = error;
      continue;
    }
    // Who uploads it once more, because it was collected meanwhile, waits for KV's second as others do.
    by = crypto.randomUUID();
    const resent = claim.state === "upload" ? claim.collected : null;
    const done: PutResult = await orClearUp(to.content.put({ ...put, resent }), clearUp);
    if (done.state !== "resend") return done;
  }
  throw new AppError("busy", { retryAfter: 5, cause });
}

/** Rejects as KV does. Large bodies have no copy that goes with the row. */
async function upload({ kept, content, bodies }: ContentPlace, hash: string, bytes: Uint8Array): Promise<void> {
  await bodies.put(bodyKey(kept, hash), bytes);
  for (let at = 0; bytes.byteLength > MAX_COPY_BYTES && at < bytes.byteLength; at += PART_BYTES) {
    const part = new Uint8Array(bytes.subarray(at, at + PART_BYTES)).buffer;
    // KV has it all the same: no part is kept where there is no room.
    if (!(await content.keepPart(hash, at, part).catch(() => false))) break;
  }
}

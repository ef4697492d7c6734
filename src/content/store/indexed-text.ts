// Reads the text of a stored resource, as far as it is indexed.

import type { TableHost } from "../../tenants/authority/tables.ts";
import { bodyKey, type StoredRow } from "./resource-row.ts";
import { MAX_SEARCH_CHARACTERS } from "./text-index.ts";

/** A body that is not in KV a while after it was written is lost; before, KV may only not show it here yet. */
const SHOWN_WITHIN_MS = 600_000;
/** No longer text is needed: a character of those that are indexed has three bytes at most. */
const MAX_TEXT_BYTES = 3 * MAX_SEARCH_CHARACTERS;

/** Of a resource, what of it is indexed. Rejects while the text cannot be read: without its words nobody would find it. */
async function indexedText(host: TableHost, { is_binary, hash, uri, revision }: StoredRow): Promise<string> {
  if (is_binary === 1) return "";
  const { BODIES } = host.env as { BODIES: KVNamespace };
  const copies = host.sql.exec<{ body: ArrayBuffer }>("SELECT body FROM copies WHERE hash = ?", hash).toArray();
  const body = copies[0]?.body ?? (await BODIES.get(bodyKey(host.kept(), hash), "stream"));
  if (body === null && host.now() - revision < SHOWN_WITHIN_MS) throw new Error(`KV does not show ${uri} yet`);
  const bytes = body instanceof ArrayBuffer ? body : await firstBytes(body);
  return new TextDecoder().decode(bytes).slice(0, MAX_SEARCH_CHARACTERS);
}

/** A body may have 25 MB, and several are read at once: no more of it is held than is indexed. */
async function firstBytes(body: ReadableStream<Uint8Array> | null): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body ?? []) {
    chunks.push(chunk);
    size += chunk.byteLength;
    if (size >= MAX_TEXT_BYTES) break;
  }
  const bytes = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.byteLength;
  }
  return bytes;
}

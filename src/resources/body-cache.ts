// A small cache of resource bodies per isolate. A body's key names its content, and only the content object says which
// key a resource has now, so a cached body is never stale. Evicts the least recently used bodies above a total size.

const MAX_BYTES = 8 * 1024 * 1024;
/** Larger bodies are not cached: one would evict many others. */
const MAX_BODY_BYTES = 256 * 1024;

/** Bound: MAX_BYTES, of bodies of MAX_BODY_BYTES at most. */
const cache = new Map<string, ArrayBuffer>();
let cachedBytes = 0;

export function getCachedBody(key: string): ArrayBuffer | undefined {
  const body = cache.get(key);
  if (body) {
    cache.delete(key);
    cache.set(key, body);
  }
  return body;
}

export function cacheBody(key: string, body: ArrayBuffer): void {
  if (body.byteLength > MAX_BODY_BYTES || cache.has(key)) return;
  cache.set(key, body);
  cachedBytes += body.byteLength;
  for (const [oldest, dropped] of cache) {
    if (cachedBytes <= MAX_BYTES) break;
    cache.delete(oldest);
    cachedBytes -= dropped.byteLength;
  }
}

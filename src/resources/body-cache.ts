// Owns a small memory of resource bodies per isolate. A body's key names its content, and only the authority says which
// key a resource has now, so what is remembered can never be old. Bounded in bytes: the least recently used go first.

const MAX_BYTES = 8 * 1024 * 1024;
/** Larger bodies are not kept: one would push out many others. */
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

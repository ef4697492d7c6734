// Owns a small memory of resource bodies per isolate. A body's key names its content, and only the authority says which
// key a resource has now, so what is remembered can never be old. Bounded in bytes: the least recently used go first.

const MAX_BYTES = 8 * 1024 * 1024;
/** Larger bodies are not kept: one would push out many others. */
const MAX_BODY_BYTES = 256 * 1024;

/** Bound: MAX_BYTES, of bodies of MAX_BODY_BYTES at most. */
const remembered = new Map<string, ArrayBuffer>();
let bytes = 0;

export function recallBody(key: string): ArrayBuffer | undefined {
  const body = remembered.get(key);
  if (body) {
    remembered.delete(key);
    remembered.set(key, body);
  }
  return body;
}

export function rememberBody(key: string, body: ArrayBuffer): void {
  if (body.byteLength > MAX_BODY_BYTES || remembered.has(key)) return;
  remembered.set(key, body);
  bytes += body.byteLength;
  for (const [oldest, dropped] of remembered) {
    if (bytes <= MAX_BYTES) break;
    remembered.delete(oldest);
    bytes -= dropped.byteLength;
  }
}

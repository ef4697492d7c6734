export type Bytes = Uint8Array | ArrayBuffer | Blob | ReadableStream<Uint8Array>;

/**
 * Reads a body whole. Rejects with a TypeError if the body has no bytes, with a RangeError if it has more than
 * `maxBytes`, and with the signal's reason if the signal aborts first, because the body is then incomplete.
 */
export async function readBytes(body: Bytes, maxBytes: number, signal: () => AbortSignal): Promise<Uint8Array> {
  if (body instanceof Uint8Array) return assertMaxBytes(body, maxBytes);
  if (body instanceof ArrayBuffer) return assertMaxBytes(new Uint8Array(body), maxBytes);
  const stream: unknown = body instanceof Blob ? body.stream() : body;
  if (!(stream instanceof ReadableStream))
    throw new TypeError("the body must be text or bytes: a Uint8Array, ArrayBuffer, Blob or ReadableStream");
  const reader = (stream as ReadableStream<Uint8Array>).getReader();
  const abortSignal = signal();
  // The error is swallowed here: the loop below throws the reason.
  const cancel = () => void reader.cancel().catch(() => {});
  abortSignal.addEventListener("abort", cancel);
  if (abortSignal.aborted) cancel();
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  for (;;) {
    const { value } = await reader.read();
    // A cancelled reader ends like one that has read everything.
    abortSignal.throwIfAborted();
    if (!value) return new Uint8Array(await new Blob(chunks).arrayBuffer());
    size += value.byteLength;
    if (!(size <= maxBytes)) {
      cancel();
      throw maxBytesError(maxBytes);
    }
    chunks.push(value as Uint8Array<ArrayBuffer>);
  }
}

function assertMaxBytes(bytes: Uint8Array, maxBytes: number): Uint8Array {
  if (bytes.byteLength > maxBytes) throw maxBytesError(maxBytes);
  return bytes;
}

function maxBytesError(maxBytes: number): RangeError {
  return new RangeError(`the body must have at most ${maxBytes} bytes`);
}

// Owns bytes as handlers have them, and reading them whole. Refuses to hold more of them than it was told.

export type Bytes = Uint8Array | ArrayBuffer | Blob | ReadableStream<Uint8Array>;

/**
 * Rejects with a TypeError for what has no bytes, with a RangeError for more than `most` of them, and with the signal's reason
 * where that ends first: what came until then is not the whole.
 */
export async function readBytes(body: Bytes, most: number, signal: () => AbortSignal): Promise<Uint8Array> {
  if (body instanceof Uint8Array) return within(body, most);
  if (body instanceof ArrayBuffer) return within(new Uint8Array(body), most);
  const stream: unknown = body instanceof Blob ? body.stream() : body;
  if (!(stream instanceof ReadableStream)) throw new TypeError("it is neither text, bytes, { text } nor { blob }");
  const reader = (stream as ReadableStream<Uint8Array>).getReader();
  const ending = signal();
  // Who reads hears why it ended.
  const stop = () => void reader.cancel().catch(() => {});
  ending.addEventListener("abort", stop);
  if (ending.aborted) stop();
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  for (;;) {
    const { value } = await reader.read();
    // A reader that was cancelled ends as one that has read everything.
    ending.throwIfAborted();
    if (!value) return new Uint8Array(await new Blob(chunks).arrayBuffer());
    size += value.byteLength;
    if (!(size <= most)) {
      stop();
      throw tooMany(most);
    }
    chunks.push(value as Uint8Array<ArrayBuffer>);
  }
}

function within(bytes: Uint8Array, most: number): Uint8Array {
  if (bytes.byteLength > most) throw tooMany(most);
  return bytes;
}

function tooMany(most: number): RangeError {
  return new RangeError(`it has more than ${most} bytes`);
}

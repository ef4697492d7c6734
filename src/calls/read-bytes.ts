// Owns bytes as handlers have them, and reading them whole. Refuses to hold more of them than it was told.

export type Bytes = Uint8Array | ArrayBuffer | Blob | ReadableStream<Uint8Array>;

/** Rejects with a TypeError for what has no bytes, with a RangeError for more than `most` of them. */
export async function readBytes(body: Bytes, most: number, signal: () => AbortSignal): Promise<Uint8Array> {
  if (body instanceof Uint8Array) return body;
  if (body instanceof ArrayBuffer) return new Uint8Array(body);
  const stream: unknown = body instanceof Blob ? body.stream() : body;
  if (!(stream instanceof ReadableStream)) throw new TypeError("it is neither text nor bytes");
  const reader = (stream as ReadableStream<Uint8Array>).getReader();
  const stop = () => void reader.cancel().catch(() => {});
  signal().addEventListener("abort", stop);
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  for (;;) {
    const { value } = await reader.read();
    if (!value) return new Uint8Array(await new Blob(chunks).arrayBuffer());
    size += value.byteLength;
    if (!(size <= most)) {
      stop();
      throw new RangeError(`it has more than ${most} bytes`);
    }
    chunks.push(value as Uint8Array<ArrayBuffer>);
  }
}

// Splits the local client's input into lines. A line that is too long or not UTF-8 is reported, and reading continues
// after it.

export type Line = { readonly text: string } | { readonly broken: string };

const MAX_LINE_BYTES = 8 * 1024 * 1024;
const NEWLINE = 0x0a;

export async function* readLines(
  input: AsyncIterable<Uint8Array | string>,
  signal: AbortSignal,
): AsyncGenerator<Line, void, void> {
  const line = new LineBuffer();
  for await (const chunk of untilAborted(input, signal)) {
    let rest = typeof chunk === "string" ? Buffer.from(chunk) : chunk;
    for (let end = rest.indexOf(NEWLINE); end >= 0; end = rest.indexOf(NEWLINE)) {
      line.add(rest.subarray(0, end));
      rest = rest.subarray(end + 1);
      yield* line.take();
    }
    line.add(rest);
  }
  // The last line may have no newline.
  if (!signal.aborted) yield* line.take();
}

class LineBuffer {
  #pieces: Uint8Array[] = [];
  #size = 0;

  add(piece: Uint8Array): void {
    this.#size += piece.byteLength;
    if (this.#size > MAX_LINE_BYTES) this.#pieces = [];
    else if (piece.byteLength > 0) this.#pieces.push(piece);
  }

  /** Yields the completed line; nothing if it is empty. */
  *take(): Generator<Line, void, void> {
    const pieces = this.#pieces;
    const isTooLong = this.#size > MAX_LINE_BYTES;
    this.#pieces = [];
    this.#size = 0;
    if (isTooLong) return yield { broken: `a line is longer than ${MAX_LINE_BYTES} bytes` };
    const text = decode(pieces);
    if (text === undefined) yield { broken: "a line is not UTF-8" };
    else if (text !== "") yield { text };
  }
}

function decode(pieces: readonly Uint8Array[]): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(pieces)).trim();
  } catch {
    return undefined;
  }
}

/** A read of stdin cannot be interrupted, so an abort leaves it pending. */
async function* untilAborted<T>(input: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T, void, void> {
  const reader = input[Symbol.asyncIterator]();
  let finish = () => {};
  const abort = () => finish();
  signal.addEventListener("abort", abort, { once: true });
  try {
    while (!signal.aborted) {
      // Racing each read against one long-lived promise would keep in memory everything ever read.
      const next = await new Promise<IteratorResult<T> | undefined>((resolve, reject) => {
        finish = () => resolve(undefined);
        reader.next().then(resolve, reject);
      });
      if (next === undefined || next.done === true) return;
      yield next.value;
    }
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

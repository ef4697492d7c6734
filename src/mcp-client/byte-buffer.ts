// Joins bytes that arrive in pieces. A single piece is not copied, and a million small pieces take little more memory
// than their bytes.

const FIRST_CAPACITY = 4096;

export class ByteBuffer {
  /** The only piece so far. Must not be written to. */
  #singlePiece: Uint8Array | undefined;
  /** A copy of all pieces, with spare capacity. */
  #storage: Uint8Array | undefined;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** The caller must not change the piece afterwards. */
  add(piece: Uint8Array): void {
    if (piece.length === 0) return;
    if (this.#length === 0) this.#singlePiece = piece;
    else this.#ensureCapacity(this.#length + piece.length).set(piece, this.#length);
    this.#length += piece.length;
  }

  /** Also empties the buffer. */
  take(): Uint8Array {
    const taken = this.#storage?.subarray(0, this.#length) ?? this.#singlePiece ?? new Uint8Array(0);
    this.#singlePiece = undefined;
    this.#storage = undefined;
    this.#length = 0;
    return taken;
  }

  /** Doubles the capacity, so that each byte is copied only a few times. */
  #ensureCapacity(length: number): Uint8Array {
    if (this.#storage && this.#storage.length >= length) return this.#storage;
    const storage = new Uint8Array(Math.max(FIRST_CAPACITY, length, 2 * this.#length));
    storage.set(this.#storage?.subarray(0, this.#length) ?? this.#singlePiece ?? new Uint8Array(0));
    this.#singlePiece = undefined;
    this.#storage = storage;
    return storage;
  }
}

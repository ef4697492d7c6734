// Owns bytes that arrive in pieces and are wanted in one: a piece that is all of it is not copied, and a million small
// pieces take little more memory than their bytes.

const FIRST_CAPACITY = 4096;

export class ByteBuffer {
  /** The only piece so far, which is not ours to write into. */
  #only: Uint8Array | undefined;
  /** A copy of all pieces, with room for more. */
  #room: Uint8Array | undefined;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** Nobody may change the piece afterwards. */
  add(piece: Uint8Array): void {
    if (piece.length === 0) return;
    if (this.#length === 0) this.#only = piece;
    else this.#roomFor(this.#length + piece.length).set(piece, this.#length);
    this.#length += piece.length;
  }

  /** All of it; the buffer is empty afterwards. */
  take(): Uint8Array {
    const taken = this.#room?.subarray(0, this.#length) ?? this.#only ?? new Uint8Array(0);
    this.#only = undefined;
    this.#room = undefined;
    this.#length = 0;
    return taken;
  }

  /** Twice as much each time, so that each byte is copied only a few times. */
  #roomFor(length: number): Uint8Array {
    if (this.#room && this.#room.length >= length) return this.#room;
    const room = new Uint8Array(Math.max(FIRST_CAPACITY, length, 2 * this.#length));
    room.set(this.#room?.subarray(0, this.#length) ?? this.#only ?? new Uint8Array(0));
    this.#only = undefined;
    this.#room = room;
    return room;
  }
}

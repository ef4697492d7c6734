// Owns a map that forgets what was not used lately, in bounded memory: two halves, of which the older one is dropped
// when the younger is full. No list is kept in order, so looking something up costs what it does in a map.

export class LruMap<V> {
  #young = new Map<string, V>();
  #old = new Map<string, V>();
  #size = 0;
  readonly #half: number;
  readonly #sizeOf: (value: V) => number;

  /** `most`: how much all entries weigh at most; how many there are, where nothing says what one weighs. */
  constructor(maxSize: number, sizeOf: (value: V) => number = () => 1) {
    this.#half = Math.max(1, Math.floor(maxSize / 2));
    this.#sizeOf = sizeOf;
  }

  get(key: string): V | undefined {
    const young = this.#young.get(key);
    if (young !== undefined) return young;
    const old = this.#old.get(key);
    if (old !== undefined) this.set(key, old);
    return old;
  }

  set(key: string, value: V): void {
    const before = this.#young.get(key);
    if (before !== undefined) this.#size -= this.#sizeOf(before);
    this.#size += this.#sizeOf(value);
    this.#young.set(key, value);
    if (this.#size < this.#half) return;
    this.#old = this.#young;
    this.#young = new Map();
    this.#size = 0;
  }
}

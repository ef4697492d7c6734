// A bounded map that drops entries that were not used recently. It has two generations: when the younger one is full,
// the older one is dropped. No list is kept in order, so a lookup costs as much as in a Map.

export class LruMap<V> {
  #young = new Map<string, V>();
  #old = new Map<string, V>();
  #size = 0;
  readonly #half: number;
  readonly #sizeOf: (value: V) => number;

  /** `maxSize`: the most that all entries weigh together. Without `sizeOf` each entry weighs 1. */
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

// Owns a map that forgets what was not used lately, in bounded memory: two halves, of which the older one is dropped
// when the younger is full. No list is kept in order, so looking something up costs what it does in a map.

export class RecentMap<V> {
  #young = new Map<string, V>();
  #old = new Map<string, V>();
  #weight = 0;
  readonly #half: number;
  readonly #weigh: (value: V) => number;

  /** `most`: how much all entries weigh at most; how many there are, where nothing says what one weighs. */
  constructor(most: number, weigh: (value: V) => number = () => 1) {
    this.#half = Math.max(1, Math.floor(most / 2));
    this.#weigh = weigh;
  }

  get(key: string): V | undefined {
    const known = this.#young.get(key);
    if (known !== undefined) return known;
    const kept = this.#old.get(key);
    if (kept !== undefined) this.set(key, kept);
    return kept;
  }

  set(key: string, value: V): void {
    const before = this.#young.get(key);
    if (before !== undefined) this.#weight -= this.#weigh(before);
    this.#weight += this.#weigh(value);
    this.#young.set(key, value);
    if (this.#weight < this.#half) return;
    this.#old = this.#young;
    this.#young = new Map();
    this.#weight = 0;
  }
}

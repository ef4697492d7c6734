// Owns a map that forgets what was not used lately, in bounded memory: two halves, of which the older one is dropped
// when the younger is full. No list is kept in order, so looking something up costs what it does in a map.

export class RecentMap<V> {
  #young = new Map<string, V>();
  #old = new Map<string, V>();
  readonly #half: number;

  /** `most`: how many entries there are at most. */
  constructor(most: number) {
    this.#half = Math.max(1, Math.floor(most / 2));
  }

  get(key: string): V | undefined {
    const known = this.#young.get(key);
    if (known !== undefined) return known;
    const kept = this.#old.get(key);
    if (kept !== undefined) this.set(key, kept);
    return kept;
  }

  set(key: string, value: V): void {
    this.#young.set(key, value);
    if (this.#young.size < this.#half) return;
    this.#old = this.#young;
    this.#young = new Map();
  }
}

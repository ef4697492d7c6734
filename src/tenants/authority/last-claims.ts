// Owns which ask something was claimed by last, in an object's memory: the same ask, made once more because its answer was lost, is
// told the same. Refuses to outlive the instance: then what was claimed is free again when its time is over.

/** Somebody may have claimed more, under names that are none any more. */
const MOST = 1000;

export class LastClaims {
  readonly #by = new Map<string, string>();

  note(claimed: string, by: string | undefined): void {
    if (this.#by.size >= MOST) this.#by.clear();
    if (by === undefined) this.#by.delete(claimed);
    else this.#by.set(claimed, by);
  }

  /** `by`: absent where nobody asks once more. */
  isOf(claimed: string, by: string | undefined): boolean {
    return by !== undefined && this.#by.get(claimed) === by;
  }
}

// Owns which ask something was claimed by last, in an object's memory: the same ask, made once more because its answer was lost, is
// told the same. Refuses to outlive the instance: then what was claimed is free again when its time is over.

/** Somebody may have claimed more, under names that are none any more. */
const MAX_CLAIMS = 1000;

export class LastClaims {
  readonly #claimants = new Map<string, string>();

  set(name: string, claimant: string | undefined): void {
    if (this.#claimants.size >= MAX_CLAIMS) this.#claimants.clear();
    if (claimant === undefined) this.#claimants.delete(name);
    else this.#claimants.set(name, claimant);
  }

  /** `by`: absent where nobody asks once more. */
  isClaimedBy(name: string, claimant: string | undefined): boolean {
    return claimant !== undefined && this.#claimants.get(name) === claimant;
  }
}

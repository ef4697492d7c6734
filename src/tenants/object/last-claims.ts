// Remembers in an object's memory which request claimed something last. The same request gets the same answer if it is
// repeated because the answer was lost. The memory ends with the instance; a claim is then free when it expires.

/** A caller may claim more under names that do not exist any more. */
const MAX_CLAIMS = 1000;

export class LastClaims {
  readonly #claimants = new Map<string, string>();

  set(name: string, claimant: string | undefined): void {
    if (this.#claimants.size >= MAX_CLAIMS) this.#claimants.clear();
    if (claimant === undefined) this.#claimants.delete(name);
    else this.#claimants.set(name, claimant);
  }

  /** `claimant`: absent if the call is not a repetition. */
  isClaimedBy(name: string, claimant: string | undefined): boolean {
    return claimant !== undefined && this.#claimants.get(name) === claimant;
  }
}

// What every error of a field says, and how many of them one answer has.

/** A member that is wrong, or deserves a second look. */
export interface FieldRule {
  /** The path of the member. */
  readonly field: string;
  /** What holds for it. */
  readonly rule: string;
}

/** The most that one answer lists. Whoever finds errors looks for one more, by which it shows that there are others. */
export const MAX_ERRORS = 100;

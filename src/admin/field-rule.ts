/** A member that is wrong, or deserves a review. */
export interface FieldRule {
  /** The path of the member. */
  readonly field: string;
  /** The rule that applies to the member. */
  readonly rule: string;
}

/** The most errors that one answer lists. Validation collects one more, which shows that the list is truncated. */
export const MAX_ERRORS = 100;

/** A member that is wrong, or deserves a review. */
export interface FieldRule {
  readonly field: string;
  readonly rule: string;
}

/** The most errors that one answer lists. Validation collects one more, which shows that the list is truncated. */
export const MAX_ERRORS = 100;

/** A member that is wrong, or deserves a review. */
export interface FieldRule {
  readonly field: string;
  readonly rule: string;
}

/** The most errors that one answer lists. Validation collects one more, which shows that the list is truncated. */
export const MAX_ERRORS = 100;

/** The rule for every stored text. */
export const WELL_FORMED_RULE = "must be text without half of a surrogate pair";

// Owns which of the reasons that `explain` gives decide, and what it cannot know. Refuses to decide what is visible: it is told.

/** What was found out, by who said it. */
export interface Findings {
  /** Why they are not let in at all. */
  readonly barred: readonly string[];
  /** The author's `visible`: what it said, or that it was not asked. */
  readonly hidden: { readonly reason: string; readonly isKnown: boolean } | undefined;
  /** What was found, or not, under the name. */
  readonly found: readonly string[];
  /** The rules of the document that say no. */
  readonly against: readonly string[];
  /** Why sources do not have it. */
  readonly withheld: readonly string[];
  /** Sources of which nobody knows what they have. */
  readonly unread: readonly string[];
  /** What limits a caller who is not named. */
  readonly unnamed: string | undefined;
}

export interface Outcome {
  readonly isVisible: boolean;
  readonly isCallable: boolean;
  /** Whether there is something of the name, seen or not. */
  readonly isThere: boolean;
}

export function verdictOf(findings: Findings, outcome: Outcome): { decidedBy: string[]; unknown: string[] } {
  const { hidden, unread, unnamed } = findings;
  const unasked = hidden && !hidden.isKnown ? [hidden.reason] : [];
  const perhaps = outcome.isThere ? [] : unread;
  return {
    decidedBy: [...deciding(findings, outcome)],
    unknown: [...(unnamed === undefined ? [] : [unnamed]), ...unasked, ...perhaps],
  };
}

/** The first that is there decides: what follows would say no to somebody who got so far. */
function deciding(
  { barred, hidden, found, against, withheld }: Findings,
  { isVisible, isCallable, isThere }: Outcome,
): readonly string[] {
  if (isVisible && isCallable) return [];
  if (barred.length > 0) return barred;
  if (isVisible) return found;
  if (!isThere) return [...found, ...withheld];
  if (against.length > 0) return against;
  return hidden ? [hidden.reason] : [...found, ...withheld];
}

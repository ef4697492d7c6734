// Owns which of the reasons that `explain` gives decide, and what it cannot know. Refuses to decide what is visible: it is told.

/** What was found out, by who said it. */
export interface ExplainFindings {
  /** Why they are not let in at all. */
  readonly blockedBy: readonly string[];
  /** The author's `visible`: what it said, or that it was not asked. */
  readonly hidden: { readonly reason: string; readonly isKnown: boolean } | undefined;
  /** What was found, or not, under the name. */
  readonly matchReasons: readonly string[];
  /** The rules of the document that say no. */
  readonly denials: readonly string[];
  /** Why sources do not have it. */
  readonly hiddenReasons: readonly string[];
  /** Sources of which nobody knows what they have. */
  readonly unreadSources: readonly string[];
  /** What limits a caller who is not named. */
  readonly unknownCaller: string | undefined;
}

export interface Visibility {
  readonly isVisible: boolean;
  readonly isCallable: boolean;
  /** Whether there is something of the name, seen or not. */
  readonly exists: boolean;
}

export function explainDecision(
  findings: ExplainFindings,
  visibility: Visibility,
): { decidedBy: string[]; unknown: string[] } {
  const { hidden, unreadSources, unknownCaller } = findings;
  const undecidedVisibility = hidden && !hidden.isKnown ? [hidden.reason] : [];
  const possibleSources = visibility.exists ? [] : unreadSources;
  return {
    decidedBy: [...decidingReasons(findings, visibility)],
    unknown: [...(unknownCaller === undefined ? [] : [unknownCaller]), ...undecidedVisibility, ...possibleSources],
  };
}

/** The first that is there decides: what follows would say no to somebody who got so far. */
function decidingReasons(
  { blockedBy, hidden, matchReasons, denials, hiddenReasons }: ExplainFindings,
  { isVisible, isCallable, exists }: Visibility,
): readonly string[] {
  if (isVisible && isCallable) return [];
  if (blockedBy.length > 0) return blockedBy;
  if (isVisible) return matchReasons;
  if (!exists) return [...matchReasons, ...hiddenReasons];
  if (denials.length > 0) return denials;
  return hidden ? [hidden.reason] : [...matchReasons, ...hiddenReasons];
}

// Selects the reasons of `explain` that decide, and those that it cannot know. The caller passes in the visibility.

/** The facts, by the rule that they come from. */
export interface ExplainFindings {
  /** Why the subject has no access at all. */
  readonly blockedBy: readonly string[];
  /** The result of the author's `visible`, or that it was not called. */
  readonly hidden: { readonly reason: string; readonly isKnown: boolean } | undefined;
  /** Whether the name matched, and how. */
  readonly matchReasons: readonly string[];
  /** The rules of the document that deny access. */
  readonly denials: readonly string[];
  /** Why sources do not have the definition. */
  readonly hiddenReasons: readonly string[];
  /** Sources whose definitions are unknown. */
  readonly unreadSources: readonly string[];
  /** Which rules are unknown because the caller is not named. */
  readonly unknownCaller: string | undefined;
}

export interface Visibility {
  readonly isVisible: boolean;
  readonly isCallable: boolean;
  /** Whether a definition of the name exists, visible or not. */
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

/** The first kind of reason that applies decides: later rules only concern callers who pass the earlier ones. */
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

// Judges what clients of one register saw: whether there is one order of all their reads and writes in which each lies
// between its begin and its end.

/** `from`: a write that was made only where that was the value. `kind: "refused"`: such a write, where another value was found. */
export type Step =
  | { readonly kind: "read"; readonly value: string }
  | { readonly kind: "write"; readonly value: string; readonly from?: string }
  | { readonly kind: "refused"; readonly from: string };

export type Operation = Step & {
  /** Of a clock that all clients share. */
  readonly begun: number;
  /** Infinity: nobody knows what came of it. */
  readonly ended: number;
};

/** undefined: they cannot be told from one client alone that does one thing after the other. */
export function contradiction(initial: string, history: readonly Operation[]): string | undefined {
  const ordered = withoutUnseen(history).toSorted((a, b) => a.begun - b.begun);
  const sure = ordered.filter(({ ended }) => ended !== Infinity).length;
  const seen = new Set<string>();
  let longest = 0;
  const search = (done: ReadonlySet<number>, sureDone: number, value: string): boolean => {
    longest = Math.max(longest, sureDone);
    if (sureDone === sure) return true;
    const place = `${[...done].toSorted((a, b) => a - b).join()} ${value}`;
    if (seen.has(place)) return false;
    seen.add(place);
    // Nothing goes before what had ended when it began.
    const firstEnd = Math.min(...ordered.map(({ ended }, at) => (done.has(at) ? Infinity : ended)));
    return ordered.some((operation, at) => {
      if (done.has(at) || operation.begun > firstEnd) return false;
      const next = after(operation, value);
      if (next === undefined) return false;
      return search(new Set(done).add(at), sureDone + (operation.ended === Infinity ? 0 : 1), next);
    });
  };
  if (search(new Set(), 0, initial)) return undefined;
  const notifications = ordered.map((one) =>
    JSON.stringify({ ...one, ended: one.ended === Infinity ? "unknown" : one.ended }),
  );
  return `no order fits from "${initial}", ${longest} of ${sure} at most:\n  ${notifications.join("\n  ")}`;
}

/**
 * A lost write that nobody read could be anywhere, and each doubles the search: it is left out, and with it the refusals that
 * it may explain.
 */
function withoutUnseen(history: readonly Operation[]): readonly Operation[] {
  const seen = new Set(history.map((one) => (one.kind === "read" ? one.value : one.from)));
  const isUnseen = (one: Operation) => one.kind === "write" && one.ended === Infinity && !seen.has(one.value);
  const first = Math.min(...history.filter(isUnseen).map(({ begun }) => begun));
  return history.filter((one) => !isUnseen(one) && !(one.kind === "refused" && one.ended > first));
}

/** The value after the operation; undefined: it cannot have happened where this was the value. */
function after(step: Step, value: string): string | undefined {
  if (step.kind === "read") return step.value === value ? value : undefined;
  if (step.kind === "refused") return step.from === value ? undefined : value;
  return step.from === undefined || step.from === value ? step.value : undefined;
}

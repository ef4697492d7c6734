// The table of a run: what struck, and how the answers came out that it struck.

import type { InjectedFault } from "../../support/injected-faults.ts";
import type { Outcome } from "./verdicts.ts";

const OUTCOMES: readonly Outcome[] = ["answered", "refused", "owed", "left", "violation"];

export class Tally {
  readonly #rows = new Map<string, Map<Outcome, number>>();

  add(struck: readonly InjectedFault[], outcome: Outcome): void {
    const kinds = new Set(struck.map(({ kind, isInner }) => (isInner ? `${kind}, of an object` : kind)));
    for (const kind of kinds.size === 0 ? ["nothing"] : kinds) {
      const row = this.#rows.get(kind) ?? new Map<Outcome, number>();
      row.set(outcome, (row.get(outcome) ?? 0) + 1);
      this.#rows.set(kind, row);
    }
  }

  toString(): string {
    const rows = [...this.#rows].toSorted(([one], [other]) => one.localeCompare(other));
    const lines = rows.map(([kind, counts]) => [kind.padEnd(26), ...OUTCOMES.map((one) => counts.get(one) ?? 0)]);
    return [["struck by".padEnd(26), ...OUTCOMES], ...lines].map((cells) => cells.join("\t")).join("\n");
  }
}

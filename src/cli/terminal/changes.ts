// Shows the difference between two documents, or between a folder and a tenant.

import { isDeepStrictEqual } from "node:util";
import type { ApplyResult, Infer } from "../../admin/contract.ts";
import { formatCount, formatTime, shortJson } from "./table.ts";
import type { OutputLine } from "./output.ts";
import { oneLine } from "./printable.ts";

export type ApplyOutcome = Infer<typeof ApplyResult>;
export type DocumentChange = ApplyOutcome["changes"][number];

export const MARKS = { added: ["+", "green"], removed: ["-", "red"], changed: ["~", "yellow"] } as const;

export function changeLines(changes: ApplyOutcome["changes"]): OutputLine[] {
  return changes.map((change) => {
    return markedLine(kindOf(change), changeText(change));
  });
}

export function kindOf({ before, after }: DocumentChange): keyof typeof MARKS {
  if (before === undefined) return "added";
  return after === undefined ? "removed" : "changed";
}

export function changeText({ path, before, after }: DocumentChange): string {
  const values = [before, after].filter((value) => value !== undefined).map(shortJson);
  return [path, values.join(" → ")].filter(Boolean).map(oneLine).join(": ");
}

/** Compares objects member by member; a different list or value is shown whole. */
export function differences(before: unknown, after: unknown, path = ""): DocumentChange[] {
  if (isDeepStrictEqual(before, after)) return [];
  if (!isPlain(before) || !isPlain(after)) return [{ path, before, after }];
  const members = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return members.flatMap((member) =>
    differences(before[member], after[member], path === "" ? member : `${path}.${member}`),
  );
}

function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function markedLine(kind: keyof typeof MARKS, text: string): OutputLine {
  const [mark, color] = MARKS[kind];
  return { color, text: `  ${mark} ${text}` };
}

export function appliedLines(name: string, applied: ApplyOutcome): OutputLine[] {
  const { changes, dryRun, revision } = applied;
  if (changes.length === 0) return [`${name}: nothing to change (revision ${revision})`, ...warningLines(applied)];
  const what = formatCount(changes.length, "change");
  const head = dryRun ? `${name}: ${what}, not applied` : `${name}: ${what} applied (revision ${revision})`;
  return [head, ...changeLines(changes), ...warningLines(applied), ...propagationNote(applied.effectiveAt)];
}

const MAX_WARNINGS = 20;

/** Input that was accepted but may be a mistake. */
export function warningLines({ warnings = [] }: Pick<ApplyOutcome, "warnings">): OutputLine[] {
  const lines = warnings.slice(0, MAX_WARNINGS).map(({ field, rule }): OutputLine => {
    return { color: "yellow", text: `  ! ${field}: ${rule}` };
  });
  return warnings.length > MAX_WARNINGS ? [...lines, `  ! and ${warnings.length - MAX_WARNINGS} more`] : lines;
}

/**
 * Most changes are answered before they are in effect everywhere, so the note says when they will be. `waits`: the
 * command has `--wait`.
 */
export function propagationNote(effectiveAt: string | null | undefined, { waits = true } = {}): string[] {
  if (effectiveAt === null || effectiveAt === undefined || Date.parse(effectiveAt) <= Date.now()) return [];
  return [`In effect everywhere from ${formatTime(effectiveAt)}${waits ? "; --wait waits for it" : ""}.`];
}

/** A suffix for messages about an item that a retry found gone. */
export function repeatText({ repeated }: { readonly repeated?: true }): string {
  return repeated === true ? " (the answer to the first attempt was lost; it is gone now)" : "";
}

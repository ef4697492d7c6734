// Owns the progress line: on a terminal one line that redraws itself, elsewhere nothing.

import { bytes, cut } from "./table.ts";
import type { Output } from "./output.ts";

const REDRAW_MS = 100;
const BAR = 20;

export interface ProgressLine {
  addBytes(count: number): void;
  addFile(): void;
  end(): void;
}

export interface Work {
  readonly verb: string;
  readonly files: number;
  /** What they are called; "files" when absent. */
  readonly what?: string;
  /** Not shown of what has another name than files. */
  readonly bytes: number;
}

/** Without an output nothing is drawn. */
export function createProgressLine(output: Output | undefined, work: Work, now: () => number = Date.now): ProgressLine {
  const began = now();
  let drawn = -Infinity;
  let files = 0;
  let sent = 0;
  const draw = (force: boolean) => {
    if (output?.isTTY !== true || (!force && now() - drawn < REDRAW_MS)) return;
    drawn = now();
    const line = progressLine(work, { files, bytes: Math.min(sent, work.bytes) }, now() - began);
    output.redraw(cut(line, (output.columns || 80) - 1));
  };
  return {
    addBytes: (count) => {
      sent += count;
      draw(false);
    },
    addFile: () => {
      files += 1;
      draw(files === work.files);
    },
    end: () => {
      if (drawn > -Infinity) output?.redraw("");
    },
  };
}

function progressLine(work: Work, done: { files: number; bytes: number }, milliseconds: number): string {
  const part = work.bytes === 0 ? done.files / work.files : done.bytes / work.bytes;
  const full = Math.round(part * BAR);
  const bar = `[${"#".repeat(full)}${"-".repeat(BAR - full)}]`;
  const speed = done.bytes / Math.max(0.001, milliseconds / 1000);
  const left = speed > 0 ? Math.ceil((work.bytes - done.bytes) / speed) : 0;
  const eta = milliseconds > 1000 && left > 0 ? `, ${left} s left` : "";
  const sizes = work.what !== undefined ? "" : `, ${bytes(done.bytes)} of ${bytes(work.bytes)}`;
  return `${work.verb} ${bar} ${done.files}/${work.files} ${work.what ?? "files"}${sizes}${eta}`;
}

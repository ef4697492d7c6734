// The progress line: one line that redraws itself on a terminal, and nothing elsewhere.

import { formatBytes, truncate } from "./table.ts";
import type { Output } from "./output.ts";

const REDRAW_MS = 100;
const BAR_WIDTH = 20;

export interface ProgressLine {
  addBytes(count: number): void;
  addFile(): void;
  end(): void;
}

export interface ProgressTask {
  readonly verb: string;
  readonly files: number;
  /** The plural of the items; "files" by default. */
  readonly what?: string;
  /** Shown only for files. */
  readonly bytes: number;
}

/** Draws nothing without an output. */
export function createProgressLine(
  output: Output | undefined,
  task: ProgressTask,
  now: () => number = Date.now,
): ProgressLine {
  const startedAt = now();
  let drawnAt = -Infinity;
  let files = 0;
  let sent = 0;
  const draw = (force: boolean) => {
    if (output?.isTTY !== true || (!force && now() - drawnAt < REDRAW_MS)) return;
    drawnAt = now();
    const line = formatProgress(task, { files, bytes: Math.min(sent, task.bytes) }, now() - startedAt);
    output.redraw(truncate(line, (output.columns || 80) - 1));
  };
  return {
    addBytes: (count) => {
      sent += count;
      draw(false);
    },
    addFile: () => {
      files += 1;
      draw(files === task.files);
    },
    end: () => {
      if (drawnAt > -Infinity) output?.redraw("");
    },
  };
}

function formatProgress(task: ProgressTask, done: { files: number; bytes: number }, milliseconds: number): string {
  const part = task.bytes === 0 ? done.files / task.files : done.bytes / task.bytes;
  const full = Math.round(part * BAR_WIDTH);
  const bar = `[${"#".repeat(full)}${"-".repeat(BAR_WIDTH - full)}]`;
  const speed = done.bytes / Math.max(0.001, milliseconds / 1000);
  const secondsLeft = speed > 0 ? Math.ceil((task.bytes - done.bytes) / speed) : 0;
  const eta = milliseconds > 1000 && secondsLeft > 0 ? `, ${secondsLeft} s left` : "";
  const sizes = task.what !== undefined ? "" : `, ${formatBytes(done.bytes)} of ${formatBytes(task.bytes)}`;
  return `${task.verb} ${bar} ${done.files}/${task.files} ${task.what ?? "files"}${sizes}${eta}`;
}

// A spinner with the elapsed seconds, for work without measurable progress. Shown only on a terminal.

import type { Output } from "./output.ts";
import { truncate } from "./table.ts";

const TURN_MS = 120;
const FRAMES = ["|", "/", "-", "\\"];

/** Draws nothing without an output. Clears the line when the work ends, even by an error. */
export async function withSpinner<T>(output: Output | undefined, text: string, work: () => Promise<T>): Promise<T> {
  if (output?.isTTY !== true) return work();
  const startedAt = Date.now();
  let turns = 0;
  const draw = () => {
    const seconds = Math.floor((Date.now() - startedAt) / 1000);
    const frame = FRAMES[turns % FRAMES.length];
    turns += 1;
    output.redraw(truncate(`${frame} ${text}${seconds === 0 ? "" : `, ${seconds} s`}`, (output.columns || 80) - 1));
  };
  draw();
  const timer = setInterval(draw, TURN_MS);
  try {
    return await work();
  } finally {
    clearInterval(timer);
    output.redraw("");
  }
}

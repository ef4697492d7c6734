// Owns what an object writes down that no answer is worth waiting for: it is done when the answer has left, and where it
// cannot be done, as in an object that is full, nobody is told but the log.

import { logError } from "../../telemetry/error-line.ts";

/** `what`: by which the log names it. */
export function deferWrite(label: string, work: () => void): void {
  void scheduler
    .wait(0)
    .then(work)
    .catch((error: unknown) => {
      logError(error, { method: label });
    });
}

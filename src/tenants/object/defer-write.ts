// Runs a write after the response was sent, because no response should wait for it. A failure, as in a full object, is
// only logged.

import { logError } from "../../telemetry/error-line.ts";

/** `label`: the name of the write in the log. */
export function deferWrite(label: string, work: () => void): void {
  void scheduler
    .wait(0)
    .then(work)
    .catch((error: unknown) => {
      logError(error, { method: label });
    });
}

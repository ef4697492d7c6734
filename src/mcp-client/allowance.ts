// Owns what a stream may still bring: bytes and lines. Whoever continues a stream on another connection hands its
// allowance on, because otherwise a server could have the whole of it again with each connection that it breaks.

import type { AnswerLimits } from "./answer-limits.ts";
import { upTo, type CountBytes } from "./body-reader.ts";
import { Budget } from "./budget.ts";
import type { Clock } from "./clock.ts";

export interface Allowance {
  readonly bytes: CountBytes;
  readonly lines: Budget;
}

/** `kept` is what an earlier connection has left. */
export function allowanceFor(limits: AnswerLimits, clock: Clock, kept: Partial<Allowance> = {}): Allowance {
  return {
    bytes: kept.bytes ?? upTo({ of: "response", bytes: limits.responseBytes }),
    lines: kept.lines ?? new Budget(clock, { most: limits.lines, perSecond: limits.linesPerSecond }),
  };
}

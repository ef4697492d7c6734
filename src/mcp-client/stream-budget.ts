// The bytes and lines that a stream may still bring. A resumed stream keeps its budget; otherwise a server could renew
// it by breaking the connection.

import type { AnswerLimits } from "./answer-limits.ts";
import { createByteCounter, type CountBytes } from "./body-reader.ts";
import { TokenBucket } from "./token-bucket.ts";
import type { Clock } from "./clock.ts";

export interface StreamBudget {
  readonly bytes: CountBytes;
  readonly lines: TokenBucket;
}

/** `remaining` is what an earlier connection has left. */
export function createStreamBudget(
  limits: AnswerLimits,
  clock: Clock,
  remaining: Partial<StreamBudget> = {},
): StreamBudget {
  return {
    bytes: remaining.bytes ?? createByteCounter({ of: "response", bytes: limits.responseBytes }),
    lines: remaining.lines ?? new TokenBucket(clock, { capacity: limits.lines, perSecond: limits.linesPerSecond }),
  };
}

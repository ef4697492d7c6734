// Owns what a stream may still bring: bytes and lines. Whoever continues a stream on another connection hands its
// allowance on, because otherwise a server could have the whole of it again with each connection that it breaks.

import type { AnswerLimits } from "./answer-limits.ts";
import { createByteCounter, type CountBytes } from "./body-reader.ts";
import { TokenBucket } from "./token-bucket.ts";
import type { Clock } from "./clock.ts";

export interface StreamBudget {
  readonly bytes: CountBytes;
  readonly lines: TokenBucket;
}

/** `kept` is what an earlier connection has left. */
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

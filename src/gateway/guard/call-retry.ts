// When a failed call is sent to its upstream again, if the document allows retries. Only failures in which no answer
// had begun count, or a status that says the upstream was unavailable.

import { SYSTEM_CLOCK, pause } from "../../mcp-client/clock.ts";
import { httpStatusOf, retryAfterMs, type Fault } from "../../mcp-client/fault.ts";
import { isOutboundErrorCode } from "../../outbound/outbound-error.ts";
import type { UpstreamDocument } from "../../tenants/document/tenant-document.ts";
import type { Deadline } from "../call-deadline.ts";

const BASE_DELAY_MS = 200;
/** A proxy before the upstream reports it, or the upstream is overloaded. */
const UNAVAILABLE_STATUSES: ReadonlySet<number> = new Set([502, 503, 504]);

/** Waits for the backoff and returns whether to retry. Call only for repeatable requests without any output so far. */
export async function waitToRetry(
  fault: Fault,
  { retry = 0 }: Pick<UpstreamDocument, "retry">,
  { retries }: { readonly retries: number },
  deadline: Deadline,
): Promise<boolean> {
  if (retries >= retry || !isUnanswered(fault)) return false;
  const longest = BASE_DELAY_MS * 2 ** retries;
  // Random, so that calls which failed together do not return together, and never before the upstream's Retry-After.
  const waitMs = longest * (0.5 + SYSTEM_CLOCK.random() / 2) + (retryAfterMs(fault, SYSTEM_CLOCK.now()) ?? 0);
  return waitMs < deadline.remainingMs && pause(SYSTEM_CLOCK, waitMs, deadline.signal);
}

function isUnanswered(fault: Fault): boolean {
  if (fault.kind === "unreachable") return !isOutboundErrorCode(fault.code);
  if (fault.kind === "lost") return fault.stage === "headers";
  return UNAVAILABLE_STATUSES.has(httpStatusOf(fault) ?? 0);
}

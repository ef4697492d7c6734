// Owns when a call that failed goes to its upstream once more, where the document allows it. Refuses whatever may have been
// answered: a failure says that no answer had begun, or its status says that nobody was there to give one.

import { SYSTEM_CLOCK, pause } from "../../mcp-client/clock.ts";
import { httpStatusOf, retryAfterMs, type Fault } from "../../mcp-client/fault.ts";
import { isOutboundErrorCode } from "../../outbound/outbound-error.ts";
import type { UpstreamDocument } from "../../tenants/document/tenant-document.ts";
import type { Deadline } from "../call-deadline.ts";

const BASE_DELAY_MS = 200;
/** A server between here and the upstream says so, or the upstream has no room. */
const UNAVAILABLE_STATUSES: ReadonlySet<number> = new Set([502, 503, 504]);

/**
 * Waits as long as it takes, and says whether to go again. For what may be asked for twice alone, of which the upstream has
 * said nothing.
 */
export async function waitToRetry(
  fault: Fault,
  { retry = 0 }: Pick<UpstreamDocument, "retry">,
  { retries }: { readonly retries: number },
  deadline: Deadline,
): Promise<boolean> {
  if (retries >= retry || !isUnanswered(fault)) return false;
  const longest = BASE_DELAY_MS * 2 ** retries;
  // By chance, so that those who failed together do not come back together; and never before the upstream wants it.
  const waitMs = longest * (0.5 + SYSTEM_CLOCK.random() / 2) + (retryAfterMs(fault, SYSTEM_CLOCK.now()) ?? 0);
  return waitMs < deadline.remainingMs && pause(SYSTEM_CLOCK, waitMs, deadline.signal);
}

function isUnanswered(fault: Fault): boolean {
  if (fault.kind === "unreachable") return !isOutboundErrorCode(fault.code);
  if (fault.kind === "lost") return fault.stage === "headers";
  return UNAVAILABLE_STATUSES.has(httpStatusOf(fault) ?? 0);
}

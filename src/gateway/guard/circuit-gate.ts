// Decides whether a call may go to its upstream, and what its outcome means for later calls. Timeouts, connection
// errors and 5xx count against the upstream. A 4xx never does, because it may concern only one caller.

import { describeFault, httpStatusOf, retryAfterMs, type Fault } from "../../mcp-client/fault.ts";
import { failure, type Failure } from "../../protocol/errors.ts";
import { isLocalLimit } from "../upstream-error.ts";
import type { TenantEvent } from "../../tenants/object/tenant-events.ts";
import { logState } from "../operate/state-log.ts";
import { circuitBreakers } from "./circuit-breaker.ts";

export interface CircuitGateOptions {
  readonly tenant: string;
  /** The upstream's id and its `configHashOf`. */
  readonly id: string;
  readonly configHash: string;
  readonly timeoutMs: number;
  readonly emitEvent?: ((event: TenantEvent) => void) | undefined;
}

/** A probe may take minutes, so other calls wait at most this long for it. */
const MAX_PROBE_MS = 10_000;

export class CircuitGate {
  readonly #options: CircuitGateOptions;

  constructor(options: CircuitGateOptions) {
    this.#options = options;
  }

  get #key(): string {
    const { tenant, id, configHash } = this.#options;
    return `${tenant} ${id} ${configHash}`;
  }

  /** Returns undefined if the call may go. Its outcome must then be recorded. */
  check(now: number): Failure | undefined {
    if (circuitBreakers.size === 0) return undefined;
    const { timeoutMs, id } = this.#options;
    const until = circuitBreakers.check(this.#key, now, Math.min(timeoutMs, MAX_PROBE_MS));
    if (until === undefined) return undefined;
    const retryAfter = secondsOf(until - now);
    const data = { server: id, fault: "unreachable", retryAfter };
    return failure("unreachableServer", `Failed to connect to server: try again in ${retryAfter} s`, data);
  }

  recordSuccess(): void {
    if (circuitBreakers.size === 0) return;
    const since = circuitBreakers.recordSuccess(this.#key);
    if (since !== null) this.#log("closed", since, null);
  }

  /** `hasOutput`: the upstream has sent something during the call. Returns the upstream's Retry-After in seconds. */
  recordFailure(fault: Fault, hasOutput: boolean, now: number): number | undefined {
    const status = httpStatusOf(fault);
    const afterMs = status === 429 || status === 503 ? retryAfterMs(fault, now) : undefined;
    // A call ended by the caller or by this Worker says nothing about the upstream.
    if (fault.kind !== "cancelled" && !isLocalLimit(fault)) {
      if (hasOutput || !isFailing(fault)) this.recordSuccess();
      else if (circuitBreakers.recordFailure(this.#key, now, afterMs)) this.#log("open", now, describeFault(fault));
    }
    return afterMs === undefined || afterMs === 0 ? undefined : secondsOf(afterMs);
  }

  #log(state: "open" | "closed", since: number, why: string | null): void {
    const { tenant, id, emitEvent } = this.#options;
    if (state === "open")
      emitEvent?.({
        type: "upstream.circuit",
        deduplicationKey: `${id} ${hourOf(since)}`,
        data: { upstream: id, why },
      });
    logState({ tenant, upstream: id, state, was: state === "open" ? "closed" : "open", why, since });
  }
}

/** Every isolate opens its own circuit, so the event key allows one event per hour. */
function hourOf(since: number): number {
  return Math.floor(since / 3_600_000);
}

function secondsOf(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1000));
}

/** No connection, no answer in time, or a 5xx. A JSON-RPC error is an answer, whatever its status. */
function isFailing(fault: Fault): boolean {
  if (fault.kind === "lost") return fault.stage === "headers";
  if (fault.kind === "status") return fault.http.status >= 500;
  return fault.kind === "unreachable" || fault.kind === "timeout";
}

// A circuit breaker per upstream and tenant in this isolate. After several failures in a row the circuit opens for a
// while, then one call probes the upstream. circuit-gate.ts judges the answers.

import { isUnexpired } from "../../tenants/cache/is-unexpired.ts";

/** The circuit opens after this many failures in a row. */
export const MAX_CONSECUTIVE_FAILURES = 5;
const FIRST_PAUSE_MS = 5_000;
const MAX_PAUSE_MS = 60_000;
/** Caps a longer Retry-After of the upstream. */
const MAX_RETRY_AFTER_MS = 300_000;
const MAX_CIRCUITS = 1000;

interface Circuit {
  failures: number;
  /** Milliseconds since the epoch, as the other times. In the past while the circuit is closed. */
  openUntil: number;
  /** Since when the circuit is open, or null if it is closed. */
  openedAt: number | null;
  isProbing: boolean;
}

export class CircuitBreakers {
  readonly #max: number;
  /** Only upstreams that failed since their last answer, the least recently failed first. */
  readonly #circuits = new Map<string, Circuit>();

  constructor(max = MAX_CIRCUITS) {
    this.#max = max;
  }

  get size(): number {
    return this.#circuits.size;
  }

  /**
   * Returns undefined if the call may go, otherwise when the next probe may start. `probeMs` is how long other calls
   * wait for a probe.
   */
  check(key: string, now: number, probeMs: number): number | undefined {
    const circuit = this.#circuits.get(key);
    if (!circuit || circuit.openedAt === null) return undefined;
    if (isUnexpired(circuit.openUntil, MAX_RETRY_AFTER_MS, now)) return circuit.openUntil;
    circuit.isProbing = true;
    circuit.openUntil = now + probeMs;
    return undefined;
  }

  /** Records an answer. Returns since when the circuit was open, or null if it was closed. */
  recordSuccess(key: string): number | null {
    const openedAt = this.#circuits.get(key)?.openedAt ?? null;
    this.#circuits.delete(key);
    return openedAt;
  }

  /** `afterMs` is the upstream's Retry-After. Returns true if the circuit opens now. */
  recordFailure(key: string, now: number, afterMs = 0): boolean {
    const circuit = this.#getOrCreate(key);
    const isOpen = circuit.openedAt !== null;
    // Calls that were in flight together fail together, and count once.
    if (isOpen && !circuit.isProbing && isUnexpired(circuit.openUntil, MAX_RETRY_AFTER_MS, now)) return false;
    circuit.failures += 1;
    const forMs = Math.max(backoffMs(circuit.failures), Math.min(afterMs, MAX_RETRY_AFTER_MS));
    if (forMs === 0 && !isOpen) return false;
    circuit.openUntil = now + forMs;
    circuit.isProbing = false;
    circuit.openedAt ??= now;
    return !isOpen;
  }

  #getOrCreate(key: string): Circuit {
    const circuit = this.#circuits.get(key) ?? { failures: 0, openUntil: 0, openedAt: null, isProbing: false };
    this.#circuits.delete(key);
    this.#circuits.set(key, circuit);
    for (const oldest of this.#circuits.keys()) {
      if (this.#circuits.size <= this.#max) break;
      this.#circuits.delete(oldest);
    }
    return circuit;
  }
}

function backoffMs(failures: number): number {
  const more = failures - MAX_CONSECUTIVE_FAILURES;
  return more < 0 ? 0 : Math.min(FIRST_PAUSE_MS * 2 ** Math.min(more, 10), MAX_PAUSE_MS);
}

/** Per isolate. Bound: MAX_CIRCUITS. */
export const circuitBreakers = new CircuitBreakers();

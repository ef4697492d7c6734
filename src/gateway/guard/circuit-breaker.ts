// A circuit breaker for each upstream of each tenant, in this isolate: an upstream that fails several times in a row is left
// alone for a while, then one call tries it. Judges no answer: call-gate.ts does.

import { isUnexpired } from "../../tenants/cache/is-unexpired.ts";

/** After so many failures in a row the circuit opens. */
export const MAX_CONSECUTIVE_FAILURES = 5;
const FIRST_PAUSE_MS = 5_000;
const MAX_PAUSE_MS = 60_000;
/** An upstream that wants to be left alone for longer is tried all the same. */
const MAX_RETRY_AFTER_MS = 300_000;
const MAX_CIRCUITS = 1000;

interface Circuit {
  failures: number;
  /** Milliseconds since the epoch, as the other times. Past where it is closed. */
  openUntil: number;
  /** Since when it is open; null: it is not. */
  openedAt: number | null;
  /** One call is trying it. */
  isProbing: boolean;
}

export class CircuitBreakers {
  readonly #max: number;
  /** Only upstreams that have failed since they last answered; the least recently failed first. */
  readonly #circuits = new Map<string, Circuit>();

  constructor(max = MAX_CIRCUITS) {
    this.#max = max;
  }

  get size(): number {
    return this.#circuits.size;
  }

  /** undefined: the call may go. Else when the upstream is tried again. `probeMs`: how long others wait for the call that tries it. */
  check(key: string, now: number, probeMs: number): number | undefined {
    const circuit = this.#circuits.get(key);
    if (!circuit || circuit.openedAt === null) return undefined;
    if (isUnexpired(circuit.openUntil, MAX_RETRY_AFTER_MS, now)) return circuit.openUntil;
    circuit.isProbing = true;
    circuit.openUntil = now + probeMs;
    return undefined;
  }

  /** The upstream answered. Gives since when the circuit was open; null: it was not. */
  recordSuccess(key: string): number | null {
    const openedAt = this.#circuits.get(key)?.openedAt ?? null;
    this.#circuits.delete(key);
    return openedAt;
  }

  /** `afterMs`: the upstream wants to be left alone for so long. true: the circuit opens now. */
  recordFailure(key: string, now: number, afterMs = 0): boolean {
    const circuit = this.#getOrCreate(key);
    const isOpen = circuit.openedAt !== null;
    // Calls that were under way together fail together, and count once.
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

/** Of this isolate. Bound: MOST_KNOWN. */
export const circuitBreakers = new CircuitBreakers();

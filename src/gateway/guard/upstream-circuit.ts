// A circuit breaker for each upstream of each tenant, in this isolate: an upstream that fails several times in a row is left
// alone for a while, then one call tries it. Judges no answer: call-gate.ts does.

import { lasts } from "../../tenants/isolate/lasting.ts";

/** After so many failures in a row the circuit opens. */
export const FAILURES_IN_A_ROW = 5;
const FIRST_PAUSE_MS = 5_000;
const LONGEST_PAUSE_MS = 60_000;
/** An upstream that wants to be left alone for longer is tried all the same. */
const LONGEST_WISH_MS = 300_000;
const MOST_KNOWN = 1000;

interface Circuit {
  failures: number;
  /** Milliseconds since the epoch, as the other times. Past where it is closed. */
  openUntil: number;
  /** Since when it is open; null: it is not. */
  openedAt: number | null;
  /** One call is trying it. */
  isProbed: boolean;
}

export class UpstreamCircuits {
  readonly #most: number;
  /** Only upstreams that have failed since they last answered; the least recently failed first. */
  readonly #known = new Map<string, Circuit>();

  constructor(most = MOST_KNOWN) {
    this.#most = most;
  }

  get size(): number {
    return this.#known.size;
  }

  /** undefined: the call may go. Else when the upstream is tried again. `probeMs`: how long others wait for the call that tries it. */
  enter(key: string, now: number, probeMs: number): number | undefined {
    const circuit = this.#known.get(key);
    if (!circuit || circuit.openedAt === null) return undefined;
    if (lasts(circuit.openUntil, LONGEST_WISH_MS, now)) return circuit.openUntil;
    circuit.isProbed = true;
    circuit.openUntil = now + probeMs;
    return undefined;
  }

  /** The upstream answered. Gives since when the circuit was open; null: it was not. */
  answered(key: string): number | null {
    const openedAt = this.#known.get(key)?.openedAt ?? null;
    this.#known.delete(key);
    return openedAt;
  }

  /** `afterMs`: the upstream wants to be left alone for so long. true: the circuit opens now. */
  failed(key: string, now: number, afterMs = 0): boolean {
    const circuit = this.#touched(key);
    const isOpen = circuit.openedAt !== null;
    // Calls that were under way together fail together, and count once.
    if (isOpen && !circuit.isProbed && lasts(circuit.openUntil, LONGEST_WISH_MS, now)) return false;
    circuit.failures += 1;
    const forMs = Math.max(pauseAfter(circuit.failures), Math.min(afterMs, LONGEST_WISH_MS));
    if (forMs === 0 && !isOpen) return false;
    circuit.openUntil = now + forMs;
    circuit.isProbed = false;
    circuit.openedAt ??= now;
    return !isOpen;
  }

  #touched(key: string): Circuit {
    const circuit = this.#known.get(key) ?? { failures: 0, openUntil: 0, openedAt: null, isProbed: false };
    this.#known.delete(key);
    this.#known.set(key, circuit);
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= this.#most) break;
      this.#known.delete(oldest);
    }
    return circuit;
  }
}

function pauseAfter(failures: number): number {
  const more = failures - FAILURES_IN_A_ROW;
  return more < 0 ? 0 : Math.min(FIRST_PAUSE_MS * 2 ** Math.min(more, 10), LONGEST_PAUSE_MS);
}

/** Of this isolate. Bound: MOST_KNOWN. */
export const circuits = new UpstreamCircuits();

// Owns what this isolate knows of upstreams that are better left alone for a while: those that cannot be reached, and
// those that said when they want to be asked again. Bounded. Refuses to judge an answer: whoever called does.

import { lasts } from "../../tenants/isolate/lasting.ts";

/** After so many failures in a row an upstream is left alone for a while; then one call is let through to try it. */
export const FAILURES_IN_A_ROW = 5;
const FIRST_PAUSE_MS = 5_000;
const LONGEST_PAUSE_MS = 60_000;
/** An upstream that wants to be left alone for longer is asked all the same. */
const LONGEST_WISH_MS = 300_000;
const MOST_KNOWN = 1000;

/** Why no call is let through now, and until when. */
export interface Shut {
  /** `wish`: the upstream itself said so. */
  readonly why: "failing" | "wish";
  /** When it is tried again, milliseconds since the epoch. */
  readonly until: number;
}

interface Circuit {
  failures: number;
  pausedUntil: number;
  /** One call is under way to see whether it works again; should nobody hear of its end, another one may at this time. */
  probedUntil: number;
  /** Which call that is: no other one's end says that it is over. */
  probe: object | undefined;
  wishedUntil: number;
  /** Since when it is left alone; null: it is not. */
  openedAt: number | null;
}

const CLOSED: Omit<Circuit, "wishedUntil"> = {
  failures: 0,
  pausedUntil: 0,
  probedUntil: 0,
  probe: undefined,
  openedAt: null,
};
function isWished({ wishedUntil }: Circuit, now: number): boolean {
  return lasts(wishedUntil, LONGEST_WISH_MS, now);
}

export class UpstreamCircuits {
  readonly #most: number;
  /** Those alone that have failed since they last answered; the least recently failed first. */
  readonly #known = new Map<string, Circuit>();

  constructor(most = MOST_KNOWN) {
    this.#most = most;
  }

  get size(): number {
    return this.#known.size;
  }

  /**
   * undefined: the call may go; it must then report how it ended. `probeMs`: how long a call may take. `call`: which one it
   * is, the same object here and when it ends.
   */
  enter(key: string, now: number, probeMs: number, call?: object): Shut | undefined {
    const circuit = this.#known.get(key);
    if (!circuit) return undefined;
    if (isWished(circuit, now)) return { why: "wish", until: circuit.wishedUntil };
    if (circuit.failures < FAILURES_IN_A_ROW) return undefined;
    if (lasts(circuit.pausedUntil, LONGEST_PAUSE_MS, now)) return { why: "failing", until: circuit.pausedUntil };
    if (lasts(circuit.probedUntil, probeMs, now))
      return { why: "failing", until: Math.min(circuit.probedUntil, now + 1000) };
    circuit.probedUntil = now + probeMs;
    circuit.probe = call;
    return undefined;
  }

  /**
   * The upstream answered, a result or an error. A pause that it has asked for goes on: the call may be older than that wish.
   * Gives since when it was left alone until now; null: it was not.
   */
  answered(key: string, now: number): number | null {
    const circuit = this.#known.get(key);
    if (!circuit) return null;
    const { openedAt } = circuit;
    if (!isWished(circuit, now)) this.#known.delete(key);
    else Object.assign(circuit, CLOSED);
    return openedAt;
  }

  /** There was no connection, or no answer in time. true: it is left alone from now on, and was not before. */
  failed(key: string, now: number, call?: object): boolean {
    const circuit = this.#touched(key);
    if (circuit.probe === call) circuit.probedUntil = 0;
    // Those that were under way together fail together, and count once.
    if (lasts(circuit.pausedUntil, LONGEST_PAUSE_MS, now)) return false;
    circuit.failures += 1;
    const more = circuit.failures - FAILURES_IN_A_ROW;
    if (more >= 0) circuit.pausedUntil = now + Math.min(FIRST_PAUSE_MS * 2 ** Math.min(more, 10), LONGEST_PAUSE_MS);
    if (more === 0) circuit.openedAt = now;
    return more === 0;
  }

  /** Likewise, where that says no more than that it does not work again. false: it did, as far as anybody knows. */
  failedAgain(key: string, now: number, call?: object): boolean {
    const isOpen = (this.#known.get(key)?.failures ?? 0) >= FAILURES_IN_A_ROW;
    if (isOpen) this.failed(key, now, call);
    return isOpen;
  }

  /** It answered that it wants to be asked again after this time. */
  wished(key: string, now: number, afterMs: number): void {
    const circuit = this.#touched(key);
    if (!isWished(circuit, now)) circuit.wishedUntil = 0;
    circuit.wishedUntil = Math.max(circuit.wishedUntil, now + Math.min(afterMs, LONGEST_WISH_MS));
  }

  /** Nobody knows how it is: the caller went away before there was an answer. */
  left(key: string, call?: object): void {
    const circuit = this.#known.get(key);
    if (circuit && circuit.probe === call) circuit.probedUntil = 0;
  }

  #touched(key: string): Circuit {
    const circuit = this.#known.get(key) ?? { ...CLOSED, wishedUntil: 0 };
    this.#known.delete(key);
    this.#known.set(key, circuit);
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= this.#most) break;
      this.#known.delete(oldest);
    }
    return circuit;
  }
}

/** Of this isolate. Bound: MOST_KNOWN. */
export const circuits = new UpstreamCircuits();

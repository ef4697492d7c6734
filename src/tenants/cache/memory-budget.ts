// Owns how many bytes one isolate holds at a time for what its clients send slowly or do not read: request bodies,
// uploads, answers and events that wait. Refuses what does not fit; who is refused answers that the client may come again.

/** An isolate has 128 MiB for everything, and other tenants are served from the same one. */
export const MAX_RESERVED_BYTES = 64 * 1024 * 1024;
/** Kept free for who holds little, so that a few large bodies do not turn away all ordinary calls. */
const SPARE_BYTES = 16 * 1024 * 1024;
/** So much is little. */
export const SMALL_BYTES = 64 * 1024;
/** So much is little of all that is held for one address. */
const SMALL_TOTAL_BYTES = 1024 * 1024;
/** Invocations whose client left end without releasing: what was not touched for so long no longer counts. */
export const STALE_AFTER_MS = 60_000;
const KEEP_ALIVE_MS = STALE_AFTER_MS / 4;
/** In seconds: most of what is held is gone by then, or was ended for being slow. */
export const MEMORY_RETRY_AFTER_S = 2;

export class MemoryBudget {
  readonly #reservations = new Set<MemoryReservation>();
  readonly #byAddress = new Map<string, number>();
  #total = 0;

  /** `holder`: the address for which it is held; "" where that is not known. */
  createReservation(address = ""): MemoryReservation {
    return new MemoryReservation(this, address);
  }

  get total(): number {
    return this.#total;
  }

  /** What is held for this address. */
  reservedFor(address: string): number {
    return this.#byAddress.get(address) ?? 0;
  }

  /**
   * Whether so many bytes more would be let in now. Nobody holds more than they leave free, so there is always room for
   * who comes next: one address gets half of it all, the second a quarter, and none turns the others away.
   */
  fits(bytes: number, small = bytes <= SMALL_BYTES, address = ""): boolean {
    const hasRoom = () => {
      const addressBytes = address === "" ? 0 : this.reservedFor(address) + bytes;
      const limit = small && addressBytes <= SMALL_TOTAL_BYTES ? MAX_RESERVED_BYTES + SPARE_BYTES : MAX_RESERVED_BYTES;
      return this.#total + bytes + addressBytes <= limit;
    };
    if (hasRoom()) return true;
    this.#releaseStale();
    return hasRoom();
  }

  /** For shares alone. */
  adjust(reservation: MemoryReservation, delta: number): void {
    this.#total += delta;
    if (reservation.bytes > 0) this.#reservations.add(reservation);
    else this.#reservations.delete(reservation);
    if (reservation.address === "") return;
    const addressBytes = this.reservedFor(reservation.address) + delta;
    if (addressBytes > 0) this.#byAddress.set(reservation.address, addressBytes);
    else this.#byAddress.delete(reservation.address);
  }

  #releaseStale(): void {
    const now = Date.now();
    for (const reservation of this.#reservations) {
      // Where the clock was set back, its time begins again.
      reservation.lastUsed = Math.min(reservation.lastUsed, now);
      if (reservation.lastUsed < now - STALE_AFTER_MS) reservation.release();
    }
  }
}

/** What one request, upload or stream holds. */
export class MemoryReservation {
  readonly #budget: MemoryBudget;
  readonly address: string;
  bytes = 0;
  lastUsed = 0;
  #keepAlive: ReturnType<typeof setInterval> | undefined;

  constructor(budget: MemoryBudget, address: string) {
    this.#budget = budget;
    this.address = address;
  }

  /**
   * Holds so many bytes from now on. false: they do not fit, and it holds what it held. `anyway`: they are there, and
   * count whether they fit or not.
   */
  resize(bytes: number, force = false): boolean {
    const delta = bytes - this.bytes;
    if (delta > 0 && !force && !this.#budget.fits(delta, bytes <= SMALL_BYTES, this.address)) return false;
    this.lastUsed = Date.now();
    if (delta === 0) return true;
    this.bytes = bytes;
    this.#budget.adjust(this, delta);
    if (bytes > SMALL_BYTES) this.#startKeepAlive();
    return true;
  }

  /** A call may take minutes, and hold all that while what it came with. A timer ends with its invocation. */
  #startKeepAlive(): void {
    if (this.#keepAlive !== undefined) return;
    const timer = setInterval(() => {
      this.lastUsed = Date.now();
      // It may have been released in another invocation, which has no say in the timers of this one.
      if (this.bytes === 0) clearInterval(timer);
    }, KEEP_ALIVE_MS);
    this.#keepAlive = timer;
  }

  release(): void {
    const { bytes } = this;
    if (bytes === 0) return;
    this.bytes = 0;
    this.#budget.adjust(this, -bytes);
    if (this.#keepAlive !== undefined) clearInterval(this.#keepAlive);
    this.#keepAlive = undefined;
  }
}

/** Of this isolate. Bound: MAX_HELD_BYTES and SPARE_BYTES, of which each share holds one at least. */
export const MEMORY_BUDGET = new MemoryBudget();
